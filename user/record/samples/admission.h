/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admission.h - which processes may get anchors: those whose layout and credentials krait knows,
 * and whose memory was opened for writing when they were identified.
 *
 * Writes go through duplicates of the descriptors from that time: after exec or exit, or if the pid
 * is reused, they do not reach any other process.
 */
#ifndef KRAIT_RECORD_SAMPLES_ADMISSION_H
#define KRAIT_RECORD_SAMPLES_ADMISSION_H

struct anchor_thread;
struct process;

/*
 * Admits a tracked process, once. Does nothing if the process must not be admitted, or if that is
 * not known yet: then the caller tries again with a later sample. t may be NULL.
 */
void admission_offer(struct anchor_thread *t, struct process *p);

#endif /* KRAIT_RECORD_SAMPLES_ADMISSION_H */
