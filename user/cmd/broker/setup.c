/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * setup.c - krait setup: what an administrator types once, so that everybody records without sudo; and whether it works.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/broker/dial.h"
#include "cmd/common/arguments.h"
#include "cmd/common/commands.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/system/privileges.h"
#include "base/text/log.h"

#define UNIT "krait-broker.socket"
enum { KEY_CHECK = 256 };

static const struct argp_option option_table[] = {
	{ "check", KEY_CHECK, 0, 0, "only try whether the service works for who asks", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *check = state->input;

	if (key != KEY_CHECK)
		return ARGP_ERR_UNKNOWN;
	*check = true;
	return 0;
}

static const struct argp parser = {
	option_table,
	parse_option,
	NULL,
	"Say what an administrator types once, so that everybody can record their own processes without sudo."
	"\v"
	"It changes nothing itself. docs/SERVICE.md says what users can see then.\n"
	"\n"
	"Exit codes of --check: 0 it works; 4 there is no service, or it refuses.",
	NULL,
	NULL,
	NULL
};

static bool has_unit(void)
{
	static const char *const folders[] = { "/etc/systemd/system",
					       "/usr/local/lib/systemd/system",
					       "/usr/lib/systemd/system", "/lib/systemd/system" };
	char path[128];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/" UNIT, folders[i]);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

/* What --check cannot see, since a hello depends on nothing of it. */
static void say_yama(void)
{
	const int scope = privileges_scope();

	if (scope == 1)
		puts("kernel.yama.ptrace_scope is 1: users see the stacks of their own processes, and no values of variables.\n");
	else if (scope == 2)
		puts("kernel.yama.ptrace_scope is 2: the service refuses everybody, unless /etc/krait/broker.conf says\n\n"
		     "  ptrace-scope = 2\n");
	else if (scope > 2)
		puts("kernel.yama.ptrace_scope is 3: nobody may look at processes until the next boot, and the service cannot\n"
		     "work.\n");
}

/* Asks for nothing: the broker takes who has left without a request for granted. */
static int check(void)
{
	struct broker_answer hello;
	struct error err;
	cleanup_close int fd = dial_is_possible() ? dial(&hello, &err) : -ENOENT;

	if (fd >= 0 && privileges_scope() > 2) {
		log_error(
			NULL,
			"krait's service answers at %s, and refuses everybody: kernel.yama.ptrace_scope is 3",
			dial_path());
		return EXIT_CODE_PERMISSION;
	}
	if (fd >= 0) {
		printf("krait's service answers at %s: krait record, top, dump and doctor work for you without sudo\n",
		       dial_path());
		say_yama();
		return EXIT_CODE_OK;
	}
	if (fd == -ENOENT && !dial_is_possible())
		log_error(NULL, "there is no service at %s (krait setup says how to start it)",
			  dial_path());
	else
		log_error(NULL, "%s", err.text);
	return EXIT_CODE_PERMISSION;
}

static void say_start(void)
{
	if (access("/run/systemd/system", F_OK)) {
		puts("As root, at each boot:\n\n  krait broker &\n");
		return;
	}
	puts("As root, once:\n");
	if (!has_unit())
		puts("  cp deploy/krait-broker.socket deploy/krait-broker.service /etc/systemd/system/   (from krait's sources)\n"
		     "  systemctl daemon-reload");
	puts("  systemctl enable --now " UNIT "\n");
}

int cmd_setup(int argc, char **argv)
{
	bool only_check = false;

	if (arguments_parse(&parser, argc, argv, 0, &only_check))
		return EXIT_CODE_USAGE;
	if (only_check)
		return check();
	say_start();
	say_yama();
	puts("Then, as any user:\n\n  krait setup --check\n  krait record -p PID");
	return EXIT_CODE_OK;
}
