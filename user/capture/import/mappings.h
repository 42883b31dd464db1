/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.h - which object is mapped where in a process of a capture.
 *
 * Mappings are in pieces that processes share until one of them changes: a fork costs nothing, and
 * a new mapping in one of 3,000 children a piece or two, not a copy of everything.
 *
 * Must hold: all lists of a capture together stay within one budget, whatever the file claims.
 */
#ifndef KRAIT_CAPTURE_IMPORT_MAPPINGS_H
#define KRAIT_CAPTURE_IMPORT_MAPPINGS_H

#include <linux/types.h>
#include <stddef.h>

#include "process/space/mapping.h"

struct mapping_set;

/* For all lists of a capture: 10,000 processes with a hundred mappings each take 60 MB. */
#define MAPPINGS_BYTES_MAX (256U << 20)

struct mappings_budget {
	size_t used; /* bytes */
	__u64 refused; /* mappings that found no room; the caller counts them */
};

/* For one process. All zero: empty. */
struct mappings {
	struct mapping_set *set;
};

/*
 * A later mapping replaces those that it overlaps; its object is from objects__find(). Returns 0;
 * -E2BIG: too many, in this process or in total; -EINVAL: malformed.
 */
int mappings_add(struct mappings *m, const struct mapping *new, struct mappings_budget *budget)
	__attribute__((warn_unused_result));
/* Makes *to the same as *from. */
void mappings_share(struct mappings *to, const struct mappings *from,
		    struct mappings_budget *budget);
void mappings_free(struct mappings *m, struct mappings_budget *budget);
/* The mapping that contains an address; NULL: none. Valid until the next change. */
const struct mapping *mappings_find(const struct mappings *m, __u64 address);

#endif /* KRAIT_CAPTURE_IMPORT_MAPPINGS_H */
