/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_profile.h - inside otlp.c: encodes the samples of a window, one process, kind and rate after
 * the other, each as one profile. otlp.c puts profiles into resources, and these into a body.
 *
 * Must hold: after the first failure nothing that was written is used.
 */
#ifndef KRAIT_OUTPUT_OTLP_OTLP_PROFILE_H
#define KRAIT_OUTPUT_OTLP_OTLP_PROFILE_H

#include <linux/types.h>
#include <stdbool.h>

#include "output/otlp/otlp.h"
#include "output/otlp/otlp_tables.h"
#include "output/otlp/otlp_values.h"
#include "profile/states.h"
#include "base/data/bytes.h"

/* Attributes of a sample beside its stack: thread's number, name and state. */
enum { OTLP_SAMPLE_ATTRIBUTES = 3 };

/* A sample of the window, as the profile needs it. */
struct otlp_tick {
	struct {
		__s32 stack, attributes[OTLP_SAMPLE_ATTRIBUTES];
		__u32 attribute_cnt;
	} key;
	__u64 time_ns; /* since 1970 */
	__s64 weight;
};

struct otlp_encoder {
	const struct window *w;
	const struct otlp_options *options;
	struct otlp_body *body;
	struct otlp_tables tables;
	struct bytes profile, scope; /* one profile, and all of a process */
	__u8 id[OTLP_ID_SIZE]; /* of the last profile */
	__s32 states[STATE_CNT]; /* attribute indexes; 0: not yet made */
	__s32 *attributes; /* of every profile */
	__u64 *times;
	__s64 *values;
	struct otlp_tick *ticks; /* of a profile */
	__u32 time_cap, value_cap, tick_cap;
	__u32 at; /* the next sample to encode */
	int err;
};

/* Notes the first failure. */
void otlp_fail(struct otlp_encoder *e, int err);
/* Is the body full, with so many samples that are not packed yet? */
bool otlp_is_full(const struct otlp_encoder *e, __u32 ticks);
/* Appends: concatenated parts of a protobuf message are one message. */
void otlp_put_message(struct otlp_encoder *e, struct bytes *ret, const ProtobufCMessage *message);

/*
 * 12 random bytes tell this body's profiles from all others, and a number tells them apart: gzip needs
 * 3 bytes for each, where 16 random ones took 19.
 */
void otlp_profile_begin_ids(struct otlp_encoder *e);
/*
 * Writes the next profile: of one process, kind and rate. Its time span covers all its samples; it
 * ends early when the body is full.
 */
void otlp_profile_put(struct otlp_encoder *e);
/* One that counts the window itself: a Collector drops a request that counts nothing. */
void otlp_profile_put_empty(struct otlp_encoder *e);

#endif /* KRAIT_OUTPUT_OTLP_OTLP_PROFILE_H */
