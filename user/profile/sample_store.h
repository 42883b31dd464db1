/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample_store.h - samples kept one by one, up to a limit: an agent's window, a round of krait top.
 *
 * A store holds its nodes in the dictionary (struct dict_holder): nothing that it needs is
 * forgotten, and its nodes get their new numbers.
 *
 * Must hold: every sample that was added is in the list or in dropped.
 */
#ifndef KRAIT_PROFILE_SAMPLE_STORE_H
#define KRAIT_PROFILE_SAMPLE_STORE_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/dict.h"
#include "profile/profile.h"

/* 48 bytes. */
struct stored_sample {
	__u64 time_ns, weight; /* CLOCK_MONOTONIC; for a wait, its end, and ns */
	__u32 node;
	__u32 state; /* profile/states.h, without flags */
	__u32 event; /* index of the profile's event */
	__u32 image, thread, cpu; /* as struct profile_sample */
	int pid, tid; /* host */
};

/* Registered with the dictionary by its address: it must stay where it is until it ends. */
struct sample_store {
	struct dict *dict; /* borrowed; NULL: not begun */
	struct stored_sample *list; /* in order of arrival */
	__u32 cnt, cap, max;
	__u64 dropped; /* found no room */
	struct dict_holder holder;
};

/* Begins an empty store of at most that many samples. The dictionary must outlive it. */
void sample_store_begin(struct sample_store *s, struct dict *dict, __u32 max);
/* Returns false if there is no room. */
bool sample_store_add(struct sample_store *s, const struct profile_sample *sample);
/* Empties it and frees its memory. */
void sample_store_clear(struct sample_store *s);
/* The same, and leaves the dictionary. Does nothing to a store that has not begun. */
void sample_store_end(struct sample_store *s);

#endif /* KRAIT_PROFILE_SAMPLE_STORE_H */
