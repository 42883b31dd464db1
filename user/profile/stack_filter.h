/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_filter.h - separates stacks with a certain function from those without it.
 *
 * The function is a pattern as shells have it ("*", "?", "[a-z]") for its qualified name, the last part of
 * that, or the name of its file without folders.
 */
#ifndef KRAIT_PROFILE_STACK_FILTER_H
#define KRAIT_PROFILE_STACK_FILTER_H

#include <stdbool.h>

#include "profile/dict.h"

struct stack_filter;

/* Whether a frame is of such a function; processes and threads are none. */
bool frame_matches(const char *pattern, enum frame_kind kind, const char *name, const char *file);

/* The pattern stays valid until free. NULL and errno on failure. */
struct stack_filter *stack_filter__new(const char *pattern);
void stack_filter__free(struct stack_filter *f);
/* Whether a frame between the root and this node is of such a function. Always for the same dictionary. */
bool stack_filter__wants(struct stack_filter *f, const struct dict *dict, __u32 node);

#endif /* KRAIT_PROFILE_STACK_FILTER_H */
