/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate.h - "krait diff --fail-above": is a function, or all of it, slower than before by more than a
 * given share, beyond what chance explains?
 *
 * What has grown. Of a program of which one function became 10 % slower, that function's share grows by less than 10 %,
 * since the whole has grown, too. So shares are judged against the rest of the program: by what they are to it, as
 * long as that rest says something. Of a function with almost everything shares do not tell whether it grew or the rest shrank.
 *
 * The test. Of each function, B's value (its share, or with work its cost per unit) is compared with
 * A's by the signed root of the likelihood ratio of its numbers of samples, for which it is expected
 * that nothing changed. Samples are random with a binomial variance; with several captures a side the
 * variance is larger by what they differ beyond that (Pearson's chi square; of a function whose runs
 * differ less by chance, what all functions' values differ by, in percent, counts as EXTRA_RUNS more
 * runs), and Student's distribution takes the place of the normal one. A function fails if its value has grown by more than the limit and chance makes
 * such a growth in fewer than one of ERROR_ONE_IN comparisons of equal programs, all functions
 * together: each function gets a part of that error as large as its share. The total of each capture
 * is one number, so that its test is Student's, of logarithms, and needs three captures a side.
 *
 * Must hold: no test says more than its captures do; a function without a verdict has none printed.
 */
#ifndef KRAIT_OUTPUT_TEXT_GATE_H
#define KRAIT_OUTPUT_TEXT_GATE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/text/json.h"
#include "profile/counts.h"

/* Of all functions of a comparison together, the chance of a wrong alarm. */
#define GATE_ERROR_ONE_IN 50000

struct gate_options {
	double above; /* percent */
	const char *function; /* judge only this one; NULL: all of them */
	bool whole; /* judge the total instead */
	bool by_total; /* a function with its callees */
	double work[2]; /* units that each capture of a side did; 0: compare shares */
	double min_points; /* least change, in percentage points of everything */
	unsigned limit; /* rows; 0 all */
	bool ascii;
};

struct gate_row {
	__u32 place;
	double value[2]; /* shares, or per unit of work */
	double change; /* percent; of a share that of its odds, if the rest is no less than a tenth; infinite: it is new */
	double chance; /* that equal programs differ so much, for this function alone */
	double detects; /* percent; the least change that is found in four of five comparisons; infinite: none */
	bool fails;
};

struct gate;

/*
 * counts: those of A, then those of B, over one dictionary. Returns 0; -ENOENT: there is no such
 * function; -ERANGE: too few captures for the total, or for time off the CPU; -ENODATA: a side has no
 * samples; -ENOMEM.
 */
int gate__new(struct gate **ret, const struct counts *const *counts, unsigned cnt_a, unsigned cnt_b,
	      const struct gate_options *options) __attribute__((warn_unused_result));
void gate__free(struct gate *g);

/* Failures first, then by size; of the total one row without a place. */
const struct gate_row *gate__rows(const struct gate *g, __u32 *ret_cnt);
__u32 gate__failures(const struct gate *g);

int gate__print(const struct gate *g, FILE *out) __attribute__((warn_unused_result));
/* The member "gate" of an open object. */
void gate__json(const struct gate *g, struct json *j);
/* JUnit's XML, as CI systems read it: a test case for each function. */
int gate__junit(const struct gate *g, FILE *out) __attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_GATE_H */
