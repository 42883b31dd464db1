/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_anchors.h - how a replay drives the placing of anchors (replay_anchors.c).
 */
#ifndef KRAIT_TESTS_REPLAY_ANCHORS_H
#define KRAIT_TESTS_REPLAY_ANCHORS_H

#include "record/anchors/anchor_thread.h"

void replay_anchors_record(struct anchor_thread *t, const void *data, size_t size);
/* Sends the decided requests and takes arrived answers. Returns when the next answer arrives, or 0. */
__u64 replay_anchors_step(struct anchor_thread *t);

#endif /* KRAIT_TESTS_REPLAY_ANCHORS_H */
