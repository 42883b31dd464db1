/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_report.h - what all reports as text have in common: how a share, a time and a row's numbers look, and
 * the lines below a table that say what it was made of.
 *
 * Sized to the terminal, plain and as wide as needed when piped.
 */
#ifndef KRAIT_EMIT_TEXT_REPORT_H
#define KRAIT_EMIT_TEXT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/counts.h"
#include "profile/view.h"

enum summary_sort {
	SUMMARY_SELF,
	SUMMARY_TOTAL,
};

struct summary_options {
	enum summary_sort sort;
	unsigned limit; /* rows of the table; 0 is all */
	bool fits; /* all of it is to be on the screen at once */
	double min_percent; /* leave out what has less in total */
	bool lines; /* one row per line, not per function */
	bool samples; /* numbers of samples (or events), also where the time they stand for is known */
	bool can_leave_kernel; /* --no-kernel is an option: a tree with much of it says so */
	bool tree_processes; /* processes as the first level of the tree */
	unsigned width; /* columns; 0 is as wide as needed */
	bool color;
	bool ascii; /* the locale is not UTF-8: guides and ellipses are ASCII */
};

struct text_report {
	FILE *out;
	const struct summary_options *options;
	const struct counts *counts;
	double all; /* what shares are shares of; at least 1 */
	double unit_ns; /* 0: numbers are samples or events */
};

#define REPORT_BOLD "\x1b[1m"
#define REPORT_DIM "\x1b[2m"
#define REPORT_RED "\x1b[31m"
#define REPORT_RESET "\x1b[0m"

/* Defaults that fit the stream: width and colour of a terminal (unless NO_COLOR is set). */
void summary_options_init(struct summary_options *o, FILE *out);
/* Fewer rows where a terminal would not show all of so many tables, and beside lines more: the hottest come first. */
void summary_options_fit(struct summary_options *o, FILE *out, unsigned tables, unsigned beside);

void text_report_begin(struct text_report *r, FILE *out, const struct counts *c,
		       const struct summary_options *o);

/* The code if the report has colours, else "". */
const char *report_color(const struct text_report *r, const char *code);
double report_percent(const struct text_report *r, __u64 units);
const char *report_ellipsis(const struct text_report *r);

/*
 * What a narrow terminal leaves of names before they are cut: first a name loses ".<locals>", without which it is as
 * clear, then a file its folders. Both are changed in place; a file may have a line.
 */
enum report_length { REPORT_WHOLE, REPORT_NO_LOCALS, REPORT_NO_FOLDERS };
void report_shorten_name(char *name, enum report_length length);
void report_shorten_file(char *file, enum report_length length);
/*
 * At most so many columns (more than 0): the end of a text is what tells functions and files apart, so the start
 * goes: "…Class.method".
 */
void report_put_tail(const struct text_report *r, const char *text, unsigned limit);
/* Cuts the widths of a function and its file to what is there for both; a file has a third where both want more. */
void report_share_room(unsigned room, unsigned *function, unsigned *file);

/* "12.3 s", "560 ms", "1003 us": at most 9 columns; a number where units are no time. */
void report_amount(const struct text_report *r, char buf[24], __u64 units);
/* "Self time", "Samples" or "Events": what report_amount() makes. */
const char *report_amount_title(const struct text_report *r);
/* The same where it heads totals: "Time". */
const char *report_total_title(const struct text_report *r);
/* " 20.9%", red where it is worth a second look. */
void report_put_self(const struct text_report *r, __u64 self);

/* " 20.9%  25.2%    811 ms  ". */
void report_put_row(const struct text_report *r, __u64 self, __u64 total);
/* "… 12 more", where some are left out. */
void report_put_more(const struct text_report *r, __u32 cnt);

/* A line: "5602 samples: 5.60 s of CPU time in 5.62 s (1.00 CPUs)", as much of it as is known. */
void report_put_total(const struct text_report *r);
/* The totals and accounts, and what the mark for hidden callers means where the view has it. */
void report_put_footer(const struct text_report *r, const struct view *v);
/* Rows of a table, 0 all: the limit, and fewer where the footer takes more lines of the screen than most do. */
unsigned report_rows(const struct text_report *r, const struct view *v);

#endif /* KRAIT_EMIT_TEXT_REPORT_H */
