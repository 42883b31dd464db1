/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_report.h - common to all text reports: how a share, a time and a row's numbers look, and the
 * lines below a table that say what it was made from.
 *
 * Fits the terminal; when piped, plain and as wide as needed.
 */
#ifndef KRAIT_OUTPUT_TEXT_TEXT_REPORT_H
#define KRAIT_OUTPUT_TEXT_TEXT_REPORT_H

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
	unsigned limit; /* rows of the table; 0: all */
	bool fits; /* must fit on one screen */
	double min_percent; /* hide rows with a smaller total */
	bool lines; /* one row per line, not per function */
	bool json_lines; /* JSON: the open object ends before the rows, and each is one of its own, on its own line */
	bool stats; /* below the table: how every interrupt ended */
	unsigned origins; /* rows of a second table: whose code it is; 0: no such table */
	bool samples; /* show samples (or events) even if the time they stand for is known */
	bool can_leave_kernel; /* --no-kernel exists: a tree with much kernel code mentions it */
	bool waits; /* labels say what was waited for (profile/waits.h) */
	bool wait_kernel; /* a tree has the kernel's frames of waits, too */
	bool tree_processes; /* processes as the first level of the tree */
	unsigned width; /* columns; 0: as wide as needed */
	bool color;
	bool ascii; /* the locale is not UTF-8: draw guides and ellipses in ASCII */
};

struct text_report {
	FILE *out;
	const struct summary_options *options;
	const struct counts *counts;
	double all; /* 100% of all shares; at least 1 */
	double unit_ns; /* 0: numbers are samples or events */
};

#define REPORT_BOLD "\x1b[1m"
#define REPORT_DIM "\x1b[2m"
#define REPORT_RED "\x1b[31m"
#define REPORT_RESET "\x1b[0m"

/* Sets defaults that fit the stream: a terminal's width, and colour (unless NO_COLOR is set). */
void summary_options_init(struct summary_options *o, FILE *out);
/*
 * Lowers the row limit if that many tables, with that many other lines, would not fit on a
 * terminal's screen. The hottest rows come first.
 */
void summary_options_fit(struct summary_options *o, FILE *out, unsigned tables, unsigned beside);

void text_report_begin(struct text_report *r, FILE *out, const struct counts *c,
		       const struct summary_options *o);

/* Returns the code if the report has colours, else "". */
const char *report_color(const struct text_report *r, const char *code);
double report_percent(const struct text_report *r, __u64 units);
const char *report_ellipsis(const struct text_report *r);

/*
 * How names shrink on a narrow terminal before they are cut: first they lose ".<locals>", then
 * files lose their folders. Both are changed in place; a file may have a line.
 */
enum report_length { REPORT_WHOLE, REPORT_NO_LOCALS, REPORT_NO_FOLDERS };
void report_shorten_name(char *name, enum report_length length);
void report_shorten_file(char *file, enum report_length length);
/*
 * Prints at most so many columns (more than 0). The end of a text distinguishes functions and
 * files, so the start is cut: "…Class.method".
 */
void report_put_tail(const struct text_report *r, const char *text, unsigned limit);
/*
 * Cuts the widths of a function and its file to fit the room. If both need more, the file gets a
 * third.
 */
void report_share_room(unsigned room, unsigned *function, unsigned *file);

/* Of a clock: did the programs use less than a tenth of a CPU? Then they mostly waited. */
bool report_is_idle(const struct counts *c);

/* Formats "12.3 s", "560 ms", "1003 us": three digits in at most 9 columns. */
void report_time(char buf[24], double ns);
/* The same for what so many units stand for; a plain number if units are not time. */
void report_amount(const struct text_report *r, char buf[24], __u64 units);
/* Returns the title for what report_amount() formats: "Self time", "Samples" or "Events". */
const char *report_amount_title(const struct text_report *r);
/* Returns the title for totals: "Time". */
const char *report_total_title(const struct text_report *r);
/* Prints " 20.9%", red if worth a second look. */
void report_put_self(const struct text_report *r, __u64 self);

/* Prints " 20.9%  25.2%    811 ms  ". */
void report_put_row(const struct text_report *r, __u64 self, __u64 total);
/* Prints "… 12 more" if rows were left out. */
void report_put_more(const struct text_report *r, __u32 cnt);

/*
 * For programs: "event", "unit", "samples", "all" (100% of all shares, in the unit), "time_ns" (what
 * these stand for; null: it is not time), "window_ns" (null: unknown) and "interrupts" (null: not
 * from krait), into the open object.
 */
struct json;
void report_put_json(struct json *j, const struct counts *c);
/* "function", "file", "line" and "kind" of a row, likewise. line <= 0: unknown. */
void report_put_json_place(struct json *j, const char *name, const char *file, int line,
			   enum frame_kind kind);

/* Prints "5,602 samples, none lost: 5.60 s of CPU time in 5.62 s (1.00 CPUs)", as far as known. */
void report_put_total(const struct text_report *r);
/* Prints the totals, the accounts if asked for, and what the marks of the view mean. */
void report_put_footer(const struct text_report *r, const struct view *v);
/* Returns a table's row limit, 0: all. It is lower if the footer takes more lines than usual. */
unsigned report_rows(const struct text_report *r, const struct view *v);

#endif /* KRAIT_OUTPUT_TEXT_TEXT_REPORT_H */
