/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * environment.h - what krait was started with and cannot work with: closed standard descriptors, signals
 * that end a writer, a tiny stack. All of it is put right before anything else, and a command that
 * krait launches gets it as it was.
 */
#ifndef KRAIT_UTIL_ENVIRONMENT_H
#define KRAIT_UTIL_ENVIRONMENT_H

struct error;

/* First thing in main(). 0, or negative with *err filled. */
int environment_prepare(struct error *err) __attribute__((warn_unused_result));
/* In a child that becomes another program. */
void environment_restore(void);

#endif /* KRAIT_UTIL_ENVIRONMENT_H */
