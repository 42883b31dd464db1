/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_printing.c - every way by which foreign text reaches a terminal: none lets a control
 * character or a forged line through, and none escapes twice.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "output/emitter.h"
#include "output/label.h"
#include "output/text/summary.h"
#include "profile/losses.h"
#include "record/samples/label.h"
#include "record/follow/refusals.h"
#include "support_profile.h"
#include "process/proc/context.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/printable.h"

/* A terminal title, a colour, a fake line of krait's, a change of direction, and invalid UTF-8. */
#define HOSTILE "fk\033]0;owned\a\033[31m\nkrait: 0 lost\r\xe2\x80\xae\xff\x9b"
#define SHOWN "fk\\x1b]0;owned\\x07\\x1b[31m\\nkrait: 0 lost\\r\\u202e\\xff\\x9b"

static void assert_harmless(const char *what, const char *text)
{
	for (const char *s = text; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f && c != 0x9b && c != 0xff))
			continue;
		fail_msg("%s lets byte 0x%02x through: %s", what, c, text);
	}
	if (strstr(text, "\xe2\x80\xae"))
		fail_msg("%s lets a change of direction through: %s", what, text);
	for (const char *s = strstr(text, "krait: 0 lost"); s; s = strstr(s + 1, "krait: 0 lost")) {
		if (s == text || s[-1] == '\n')
			fail_msg("%s lets a forged line through: %s", what, text);
	}
}

static void assert_escaped_once(const char *what, const char *text)
{
	assert_harmless(what, text);
	if (strstr(text, "\\\\x1b") || strstr(text, "\\\\n"))
		fail_msg("%s escapes twice: %s", what, text);
}

/* Returns what fn prints on *stderr. The caller frees it. */
static char *said(void (*fn)(void))
{
	FILE *before = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	assert_non_null(stderr);
	fn();
	fclose(stderr);
	stderr = before;
	return text;
}

static void say_error(void)
{
	log_error(NULL, "process %d: %s", 7, HOSTILE);
}

static void say_debug(void)
{
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("target", "%s: no such file", HOSTILE);
	log_set_level(LOG_LEVEL_INFO);
}

static void say_failure(void)
{
	struct error err;

	error_set(&err, 3, EXIT_CODE_TARGET, "process %d cannot be sampled: %s", 7, HOSTILE);
	log_error(NULL, "%s", err.text);
}

static void say_twice(void)
{
	char once[256];

	printable_into(once, sizeof(once), HOSTILE);
	log_warn(NULL, "%s", once);
}

static void say_long(void)
{
	char name[4096];

	for (size_t i = 0; i + 1 < sizeof(name); i++)
		name[i] = "\033\n"[i % 2];
	name[sizeof(name) - 1] = '\0';
	log_info(NULL, "%s", name);
}

static void a_message_is_one_printable_line(void **state)
{
	void (*const all[])(void) = { say_error, say_debug, say_failure, say_twice, say_long };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = said(all[i]);

		assert_escaped_once("a message", text);
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		assert_int_equal(strncmp(text, "krait: ", 7), 0);
		if (all[i] != say_long)
			assert_non_null(strstr(text, SHOWN));
		free(text);
	}
}

typedef void (*print_fn)(FILE *out);

static void print_refusals(FILE *out)
{
	struct refusals r = { 0 };

	refusals_note(&r, -ENOTSUP, HOSTILE, 7, "");
	/* One whose second interpreter is missing is sampled. */
	refusals_note(&r, 0, HOSTILE, 8, "");
	assert_int_equal(refusals_cnt(&r), 1);
	refusals_print(&r, out);
}

static void print_losses(FILE *out)
{
	__u64 reasons[REASON_CNT] = { 0 };
	struct losses l = { 0 };

	reasons[REASON_RING_FULL] = 3;
	losses_add(&l, 7, HOSTILE, reasons);
	losses_print(&l, out);
}

static void print_label(FILE *out)
{
	struct context c = { .known = true };
	char label[512];

	snprintf(c.script, sizeof(c.script), "/tmp/%s", HOSTILE);
	snprintf(c.cgroup, sizeof(c.cgroup), "/%s", HOSTILE);
	c.container.runtime = "lxc";
	snprintf(c.container.id, sizeof(c.container.id), "\033[31m");
	process_label(label, sizeof(label), ~0U, HOSTILE, 7, &c);
	fputs(label, out);
}

/* One stack whose process, thread, function and file all have that name. */
static struct profile *profile_of(const char *name)
{
	struct profile *p = profile__new();
	__u32 node = push(p, 0, add_process(p, name, 7));

	node = push(p, node, add_thread(p, name, 7, 8));
	node = push(p, node, add_function(p, name, name, 1, 2));
	add_samples(p, push(p, node, add_mark(p, name)), 3);
	return p;
}

static void print_summary(FILE *out)
{
	const struct summary_options options = { .width = 80, .lines = true };
	struct profile *p = profile_of(HOSTILE);

	assert_int_equal(summary_table(out, profile__counts(p, 0), &options), 0);
	profile__free(p);
}

static void nothing_printed_controls_a_terminal(void **state)
{
	static const struct {
		const char *name;
		print_fn fn;
	} all[] = {
		{ "refusals", print_refusals },
		{ "losses", print_losses },
		{ "the label of a process", print_label },
		{ "the summary", print_summary },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		all[i].fn(out);
		fclose(out);
		assert_escaped_once(all[i].name, text);
		free(text);
	}
}

static void no_text_format_controls_a_terminal(void **state)
{
	static const char *const formats[] = { "folded", "script", "speedscope", "firefox",
					       "callgrind" };
	const struct emit_options options = { .title = HOSTILE,
					      .recording = { HOSTILE, HOSTILE, HOSTILE } };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct profile *p = profile_of(HOSTILE);
		char *text = emit_text(formats[i], p, &options);

		assert_harmless(formats[i], text);
		free(text);
		profile__free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_one_printable_line),
		cmocka_unit_test(nothing_printed_controls_a_terminal),
		cmocka_unit_test(no_text_format_controls_a_terminal),
	};

	return cmocka_run_group_tests_name("printing", tests, NULL, NULL);
}
