/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchor_link.h - what anchoring is connected to: the sampler's records come in; questions to a
 * prober and changes of the sampler's slots go out. It does not matter which thread does this.
 */
#ifndef KRAIT_RECORD_ANCHORS_ANCHOR_LINK_H
#define KRAIT_RECORD_ANCHORS_ANCHOR_LINK_H

#include "kernel/sampler/sampler.h"
#include "record/anchors/anchoring.h"

/* All members are borrowed. */
struct anchor_link {
	struct sampler *sampler;
	struct prober *prober; /* NULL at the end, when nobody waits for answers */
	struct anchoring *anchoring;
};

/* For anchoring__new(); link must outlive its use. */
struct anchor_access anchor_link_access(struct anchor_link *link);
/* For record_dispatch(), likewise. */
struct sampler_handler anchor_link_handler(struct anchor_link *link);

#endif /* KRAIT_RECORD_ANCHORS_ANCHOR_LINK_H */
