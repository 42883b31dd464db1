/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_pages.h - pages for tests, and the files that tests/e2e/test_flamegraph_page.py and
 * test_speedscope.py open in a browser.
 */
#ifndef KRAIT_TESTS_SUPPORT_PAGES_H
#define KRAIT_TESTS_SUPPORT_PAGES_H

#include <stdio.h>

#include "output/emitter.h"
#include "profile/profile.h"

#define PAGES_MS 1000000ULL

/* The recording's description in each page. */
extern const struct emit_options pages_options;

/*
 * 600 ms on a CPU and 2 s off it, 500 ms of which wait for the GIL; one function both works and
 * waits.
 */
struct profile *pages_waits(void);
/*
 * Compares the small profile with a version in which walk took twice as long and nothing was
 * encoded.
 */
void pages_comparison(FILE *out);
/*
 * With sources; *asked: how often they were requested. Those of the encoder are unreadable. The
 * caller frees the text.
 */
char *pages_with_sources(struct profile *p, unsigned *asked);

/*
 * Writes all files for the browser into that folder; also a very large one if KRAIT_PAGES_HUGE is
 * set.
 */
void pages_write(const char *dir);

#endif /* KRAIT_TESTS_SUPPORT_PAGES_H */
