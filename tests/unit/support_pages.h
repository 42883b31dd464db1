/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_pages.h - pages for tests, and the files that tests/e2e/test_flamegraph_page.py and test_speedscope.py open in a
 * browser.
 */
#ifndef KRAIT_TESTS_SUPPORT_PAGES_H
#define KRAIT_TESTS_SUPPORT_PAGES_H

#include <stdio.h>

#include "emit/emitter.h"
#include "profile/profile.h"

#define PAGES_MS 1000000ULL

/* What each page says of its recording. */
extern const struct emit_options pages_options;

/* 600 ms on a CPU and 2 s off it, of which 500 ms for the GIL; one function both works and waits. */
struct profile *pages_waits(void);
/* The small profile, and what it was when walk took twice as long and nothing was encoded. */
void pages_comparison(FILE *out);
/* With sources, asked for so many times; those of the encoder may not be read. To be freed. */
char *pages_with_sources(struct profile *p, unsigned *asked);

/* All that a browser is to open, into that folder; a very large one, too, if KRAIT_PAGES_HUGE is set. */
void pages_write(const char *dir);

#endif /* KRAIT_TESTS_SUPPORT_PAGES_H */
