/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_filter.h - separates stacks that contain a certain function from those that do not.
 *
 * The function is given as its qualified name, the last part of that, or its file's name without folders, or as a
 * pattern for these (base/text/pattern.h). Marks also match without their brackets, and waits by their state: "[io: read
 * pipe]" is "io: read pipe" and "io".
 */
#ifndef KRAIT_PROFILE_STACK_FILTER_H
#define KRAIT_PROFILE_STACK_FILTER_H

#include <stdbool.h>

#include "profile/dict.h"
#include "base/text/pattern.h"

struct stack_filter;

/* Does a frame match? Processes and threads never do. */
bool frame_matches(const char *pattern, enum pattern_use use, enum frame_kind kind,
		   const char *name, const char *file);

/* The pattern must stay valid until free. NULL and errno on failure. */
struct stack_filter *stack_filter__new(const char *pattern, enum pattern_use use);
void stack_filter__free(struct stack_filter *f);
/* Does a frame between the root and this node match? Always pass the same dictionary. */
bool stack_filter__wants(struct stack_filter *f, const struct dict *dict, __u32 node);

#endif /* KRAIT_PROFILE_STACK_FILTER_H */
