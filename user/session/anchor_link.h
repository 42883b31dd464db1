/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchor_link.h - what anchoring is connected to: records of the sampler go in, questions to a prober and changes
 * of the sampler's slots go out. Whose thread does that is of no matter here.
 */
#ifndef KRAIT_SESSION_ANCHOR_LINK_H
#define KRAIT_SESSION_ANCHOR_LINK_H

#include "sampler/sampler.h"
#include "session/anchoring.h"

/* All are borrowed. */
struct anchor_link {
	struct sampler *sampler;
	struct prober *prober; /* NULL at the end, when no answer is waited for */
	struct anchoring *anchoring;
};

/* For anchoring__new() and record_dispatch(); link must live as long as they are in use. */
struct anchor_access anchor_link_access(struct anchor_link *link);
struct sampler_handler anchor_link_handler(struct anchor_link *link);

#endif /* KRAIT_SESSION_ANCHOR_LINK_H */
