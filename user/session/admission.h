/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admission.h - which processes may get anchors: those whose layout krait knows, whose credentials are
 * known, and whose memory was opened for writing when they were identified.
 *
 * The descriptors that the write goes through are copies of those from then: after exec, exit or with a
 * reused pid they lead to nobody else.
 */
#ifndef KRAIT_SESSION_ADMISSION_H
#define KRAIT_SESSION_ADMISSION_H

struct anchor_thread;
struct process;

/*
 * Admits a tracked process, once. Does nothing if the process must not be admitted, or as long as that is not
 * known: then the caller tries again with a later sample. t may be NULL.
 */
void admission_offer(struct anchor_thread *t, struct process *p);

#endif /* KRAIT_SESSION_ADMISSION_H */
