/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor.c - krait doctor: checks whether krait works here, and says how to fix it.
 */
#include <argp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/broker/client.h"
#include "cmd/common/arguments.h"
#include "cmd/common/commands.h"
#include "cmd/common/printed.h"
#include "cmd/doctor/checks.h"
#include "cmd/doctor/findings.h"
#include "output/text/text_report.h"
#include "process/probe/prober.h"
#include "base/system/error.h"
#include "base/text/json.h"
#include "output/escape.h"
#include "base/text/log.h"
#include "base/text/stream.h"
#include "base/text/printable.h"
#include "base/system/privileges.h"

struct doctor {
	bool json;
	pid_t pid; /* 0: all */
	struct findings findings;
};

static const char *const level_names[] = {
	[FINDING_OK] = "ok",
	[FINDING_LIMITED] = "limited",
	[FINDING_BROKEN] = "broken",
};

static const struct argp_option option_table[] = {
	{ "json", 'j', NULL, 0, "one JSON array instead of lines", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor *d = state->input;

	switch (key) {
	case 'j':
		d->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (d->pid)
			arguments_refuse(state, "only one PID");
		d->pid = arguments_id(arg, "PID", state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[PID]",
	.doc = "Check whether krait works on this machine, or for one process.\v"
	       "Each line is ok, limited (some features do not work) or broken "
	       "(krait cannot record), with the consequences and the fix. "
	       "doctor changes nothing.\n\n"
	       "The exit code is 0 if recording works, 3 if krait cannot "
	       "record the process, 4 if rights are missing, 5 if the kernel "
	       "lacks something.\n\n"
	       "Examples:\n"
	       "  sudo krait doctor\n"
	       "  sudo krait doctor 4242\n"
	       "  sudo krait doctor --json | jq '.[] | select(.level != \"ok\")'\n",
};

#define INDENT 30
/* Of a narrower terminal nothing is left beside the names: then it breaks the lines itself. */
#define LEAST_ROOM 30

/* Prints the rest of a line; on a terminal it goes on below its own beginning, between words. */
static void put_words(const char *text, unsigned indent, unsigned width)
{
	unsigned at = indent;

	while (*text) {
		size_t len = strcspn(text, " "), blanks = strspn(text + len, " "), bytes;
		unsigned columns = 0;

		for (const char *c = text; c < text + len; c += bytes)
			columns += char_width(c, &bytes);
		if (at > indent && width >= indent + LEAST_ROOM && at + columns > width) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		}
		printf("%.*s", (int)len, text);
		at += columns + (unsigned)blanks;
		text += len + blanks;
		/* Where the next word goes to the next line, so do the blanks. */
		if (*text && !(width >= indent + LEAST_ROOM && at + strcspn(text, " ") > width))
			printf("%*s", (int)blanks, "");
	}
	putchar('\n');
}

/* What fixes it is to be pasted: it stays one line. */
static void print(const struct finding *f)
{
	struct summary_options terminal;
	char what[800];

	summary_options_init(&terminal, stdout);
	printable_into(what, sizeof(what), f->what);
	printf("%-8s %-20s ", level_names[f->level], f->name);
	put_words(what, INDENT, terminal.width);
	if (f->cost) {
		printf("%29s costs: ", "");
		put_words(f->cost, INDENT + 7, terminal.width);
	}
	if (f->remedy)
		printf("%29s fix:   %s\n", "", f->remedy);
}

static void put_json(struct json *j, const struct finding *f)
{
	json_open_object(j);
	printed_json_row(j, "doctor");
	json_put_string(j, "level", level_names[f->level]);
	json_put_string(j, "name", f->name);
	json_put_string(j, "what", f->what);
	if (f->cost)
		json_put_string(j, "cost", f->cost);
	if (f->remedy)
		json_put_string(j, "remedy", f->remedy);
	json_close_object(j);
	json_newline(j);
}

static void print_all(const struct doctor *d)
{
	struct json j = { .out = stdout };

	if (d->json)
		json_open_array(&j);
	for (size_t i = 0; i < d->findings.cnt; i++) {
		if (d->json)
			put_json(&j, &d->findings.list[i]);
		else
			print(&d->findings.list[i]);
	}
	if (d->json) {
		json_close_array(&j);
		putchar('\n');
	}
}

static int judge(const struct doctor *d)
{
	int code = EXIT_CODE_OK;

	for (size_t i = 0; i < d->findings.cnt; i++) {
		const struct finding *f = &d->findings.list[i];

		if (f->level != FINDING_BROKEN)
			continue;
		if (!strcmp(f->name, "capabilities") || !strcmp(f->name, "namespaces"))
			return EXIT_CODE_PERMISSION;
		if (strcmp(f->name, "process"))
			code = EXIT_CODE_KERNEL;
		else if (code == EXIT_CODE_OK)
			code = EXIT_CODE_TARGET;
	}
	return code;
}

static int examine(struct doctor *d)
{
	struct prober *prober = prober__new(PROBERS_MAX);

	if (!prober) {
		log_error("doctor", "out of memory");
		return EXIT_CODE_KERNEL;
	}
	prober__prepare(prober, true);
	checks_rights(&d->findings);
	checks_kernel(&d->findings);
	if (privileges_drop(&(const struct privileges_need){ .sampling = true })) {
		log_error("doctor", "cannot give up the rights that krait does not need");
		prober__free(prober);
		return EXIT_CODE_KERNEL;
	}
	checks_sampling(&d->findings);
	checks_pythons(&d->findings, prober, d->pid);
	prober__free(prober);
	print_all(d);
	return printed("doctor", stream_finish(stdout)) ? EXIT_CODE_OUTPUT : judge(d);
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor d = { 0 };
	int code = EXIT_CODE_USAGE;

	if (!arguments_parse(&parser, argc, argv, 0, &d))
		code = client_is_possible() ? client_run(BROKER_DOCTOR) : examine(&d);
	findings_free(&d.findings);
	return code;
}
