/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clean.c - "krait clean": removes what recordings left behind.
 */
#include "cmd/common/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "capture/dso/dso_clean.h"
#include "base/system/error.h"
#include "base/text/log.h"

#define CAPTURES_MAX 64

struct clean_command {
	const char *captures[CAPTURES_MAX];
	unsigned cnt;
	struct dso_cleaned cleaned;
};

static const struct argp_option option_table[] = {
	{ "dry-run", 'n', NULL, 0, "print what would be removed, and remove nothing", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct clean_command *c = state->input;

	switch (key) {
	case 'n':
		c->cleaned.dry = true;
		return 0;
	case ARGP_KEY_ARG:
		if (c->cnt == CAPTURES_MAX)
			arguments_refuse(state, "too many captures: at most %d", CAPTURES_MAX);
		c->captures[c->cnt++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[CAPTURE...]",
	.doc = "Remove files that recordings left behind: copies of the names "
	       "of Python functions in perf's build-id cache (~/.debug, or "
	       "$PERF_BUILDID_DIR) whose originals beside the capture are "
	       "gone, and CAPTURE.krait for each removed capture that you name "
	       "here.\v"
	       "krait removes only files that it made. A capture that was moved without its "
	       "folder still needs that folder: do not name it here.\n\n"
	       "Examples:\n"
	       "  krait clean -n\n"
	       "  rm perf.data && krait clean perf.data\n",
};

static int clean_capture(struct dso_cleaned *cleaned, const char *capture)
{
	int err = dso_clean_capture(cleaned, capture);

	if (err == -EEXIST)
		log_error(NULL, "%s is still there and needs %s.krait: remove the capture first",
			  capture, capture);
	else if (err == -ENOENT)
		log_error(NULL, "there is no %s.krait", capture);
	else if (err)
		log_error(NULL, "cannot remove %s.krait: %s", capture, strerror(-err));
	return err;
}

static int clean_captures(const struct clean_command *c, struct dso_cleaned *cleaned)
{
	int code = EXIT_CODE_OK;

	for (unsigned i = 0; i < c->cnt; i++)
		code = clean_capture(cleaned, c->captures[i]) ? EXIT_CODE_OUTPUT : code;
	return code;
}

int cmd_clean(int argc, char **argv)
{
	struct dso_cleaned tried = { .dry = true };
	struct clean_command c = { .cnt = 0 };
	int code, err;

	if (arguments_parse(&parser, argc, argv, 0, &c))
		return EXIT_CODE_USAGE;
	/* A wrong name may be a typo: then remove nothing. */
	if (clean_captures(&c, &tried))
		return EXIT_CODE_OUTPUT;
	/* Captures first: then the cache has no originals left for them. */
	code = clean_captures(&c, &c.cleaned);
	err = dso_clean_cache(&c.cleaned);
	if (err) {
		log_error(NULL, "cannot clean the build-id cache: %s", strerror(-err));
		code = EXIT_CODE_OUTPUT;
	}
	printf("%s %llu %s (%llu KiB)\n", c.cleaned.dry ? "would remove" : "removed",
	       (unsigned long long)c.cleaned.files, c.cleaned.files == 1 ? "file" : "files",
	       (unsigned long long)(c.cleaned.bytes >> 10));
	return code;
}
