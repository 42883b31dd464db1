/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - only finds the subcommand or the worker's role.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/broker/spare.h"
#include "cmd/common/commands.h"
#include "cmd/common/complete.h"
#include "cmd/common/printed.h"
#include "cmd/perf/perf_child.h"
#include "cmd/roles.h"
#include "base/system/environment.h"
#include "base/system/error.h"
#include "base/system/library.h"
#include "base/text/log.h"
#include "base/text/nearest.h"
#include "base/files/sudo_user.h"
#include "base/worker/own.h"
#include "base/worker/role.h"

/*
 * Larger blocks get mappings of their own: they grow by mremap() without a copy and leave no hole
 * in the heap, and unused reserve takes no memory. By default glibc raises this threshold to 32 MiB
 * as arrays grow.
 */
#define LARGE_BLOCK (1 << 20)

static const struct command {
	const char *name;
	const char *full_name; /* argv[0] of the command */
	const char *help;
	int (*run)(int argc, char **argv);
	bool privileged; /* keeps root's rights; other commands do not need them and drop them */
} commands[] = {
	{ "record", "krait record", "sample processes and write a profile", cmd_record, true },
	{ "report", "krait report", "print the hottest functions, lines, threads, or the call tree",
	  cmd_report },
	{ "script", "krait script", "print every sample as text", cmd_script },
	{ "convert", "krait convert",
	  "write flame graph, pprof, speedscope, Firefox, callgrind ...", cmd_convert },
	{ "list", "krait list", "list Python processes and how they would be profiled", cmd_list,
	  true },
	{ "dump", "krait dump", "print what every thread of a process does right now", cmd_dump,
	  true },
	{ "exec", "krait exec", "run Python code inside a process (CPython 3.14+)", cmd_exec,
	  true },
	{ "top", "krait top", "show what Python programs do now, second by second", cmd_top, true },
	{ "agent", "krait agent", "sample every Python process all the time and send profiles",
	  cmd_agent, true },
	{ "broker", "krait broker", "record for ordinary users, each its own processes", cmd_broker,
	  true },
	{ "setup", "krait setup", "how to record without sudo, and whether it works", cmd_setup },
	{ "doctor", "krait doctor", "check whether krait works here, and what to fix if not",
	  cmd_doctor, true },
	{ "annotate", "krait annotate", "print source lines with their samples", cmd_annotate },
	{ "diff", "krait diff", "compare two captures", cmd_diff },
	{ "perf", "krait perf", "start perf record, and give its samples Python frames", cmd_perf,
	  true },
	{ "attach", "krait attach", "do that for a perf record that runs", cmd_attach, true },
	{ "inject", "krait inject", "do that between two perfs in a pipe, or afterwards",
	  cmd_inject, true },
	{ "clean", "krait clean", "remove files that recordings left behind", cmd_clean },
	{ "version", "krait version", "print the version; -v: what krait is built of",
	  cmd_version },
};
#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static int print_usage(FILE *out)
{
	fputs("krait " KRAIT_VERSION
	      ": samples every CPython process on this machine, exactly and without stopping it\n\n"
	      "usage: krait COMMAND [OPTION...]\n\n",
	      out);
	for (size_t i = 0; i < COMMAND_CNT; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n\"krait PID\" records a process, as \"krait record -p PID\".\n\n"
	      "Examples:\n"
	      "  sudo krait record -a -d 10s\n"
	      "  sudo krait record -p PID -o out.folded && krait report out.folded\n"
	      "  sudo krait record -- python3 app.py\n\n"
	      "\"krait COMMAND --help\" lists all options. Commands can be abbreviated: krait rec.\n",
	      out);
	return out == stdout ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

/* Commands of other profilers, for those who know these. */
static const struct {
	const char *name, *here;
} others[] = {
	{ "run", "krait record -- COMMAND" },
	{ "start", "krait record -p PID" },
	{ "stat", "krait report --by program" },
	{ "ps", "krait list" },
	{ "live", "krait top" },
	{ "view", "krait report" },
	{ "sched", "krait record --off-cpu" },
	{ "flamegraph", "krait convert -o flame.html" },
	{ "export", "krait convert -o FILE" },
	{ "replay", "krait convert -o FILE" },
	{ "import", "krait convert -i FILE -o FILE" },
};

static void refuse(const char *name)
{
	struct nearest n;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strcmp(others[i].name, name)) {
			log_error(NULL,
				  "no command \"%s\": that is %s here (krait --help lists all)",
				  name, others[i].here);
			return;
		}
	}
	nearest_begin(&n, name);
	for (size_t i = 0; i < COMMAND_CNT; i++)
		nearest_try(&n, commands[i].name);
	if (n.best)
		log_error(NULL, "no command \"%s\"; did you mean %s? (krait --help lists all)",
			  name, n.best);
	else
		log_error(NULL, "no command \"%s\" (krait --help lists all)", name);
}

/* Finds a command by name or unique prefix; NULL after a message otherwise. */
static const struct command *find_command(const char *name)
{
	const struct command *found = NULL;
	size_t len = strlen(name);

	for (size_t i = 0; i < COMMAND_CNT; i++) {
		if (strncmp(commands[i].name, name, len))
			continue;
		if (!commands[i].name[len])
			return &commands[i];
		if (found) {
			log_error(NULL, "\"%s\" is short for %s and for %s", name, found->name,
				  commands[i].name);
			return NULL;
		}
		found = &commands[i];
	}
	if (!found)
		refuse(name);
	return found;
}

static int take_rights(const struct command *command)
{
	int err = command->privileged ? sudo_user_settle() : sudo_user_become();

	if (err)
		log_error(NULL, "cannot switch to the user behind sudo: %s", strerror(-err));
	return err;
}

/* For a user who looks around: lists the commands and what to type next. */
static int greet(void)
{
	char *argv[] = { (char *)"krait list", NULL };
	int code;

	if (take_rights(find_command("list")))
		return EXIT_CODE_PERMISSION;
	code = cmd_list(1, argv);
	puts("\n  krait PID            record a process, until Ctrl-C\n"
	     "  krait dump PID       what each of its threads does right now\n"
	     "  krait top            what all of them do, second by second\n"
	     "  krait record -a      record the whole machine\n"
	     "  krait doctor         check whether krait works here, and how to fix it\n"
	     "  krait --help         all commands");
	return code;
}

/* "krait PID" means "krait record -p PID". */
static int record_pid(int argc, char **argv)
{
	char **args = calloc((size_t)argc + 2, sizeof(*args));
	int code = EXIT_CODE_PERMISSION;

	if (!args)
		return EXIT_CODE_KERNEL;
	args[0] = (char *)"krait record";
	args[1] = (char *)"-p";
	memcpy(args + 2, argv + 1, (size_t)argc * sizeof(*args));
	if (!take_rights(find_command("record")))
		code = cmd_record(argc + 1, args);
	free(args);
	return code;
}

/* The first word of a line to be completed. */
static int complete_first(const char *text)
{
	for (size_t i = 0; i < COMMAND_CNT; i++)
		complete_word(text, commands[i].name, commands[i].help);
	complete_word(text, "help", "what a command does, and its options");
	if (text[strspn(text, "0123456789")] == '\0')
		complete_pids("", text);
	return EXIT_CODE_OK;
}

int main(int argc, char **argv)
{
	const struct role *role = roles_find(argv[0]);
	const struct command *command;
	const char *name = argc > 1 ? argv[1] : NULL;
	struct error err;

	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	library_prepare();
	if (role)
		return argc > 1 ? role_main_ahead(role, argv[1]) : role_main(role);
	if (argc > 3 && !strcmp(name, PERF_GATE))
		return perf_gate(argv + 2);
	printed_at_exit();
	if (argc > 2 && !strcmp(name, OWN_SPARE_WORD)) {
		if (spare_serve(&argc, &argv)) {
			log_error(NULL, OWN_SPARE_WORD " is for krait broker alone");
			return EXIT_CODE_USAGE;
		}
		name = argv[1];
	}
	if (argc > 2 && (!strcmp(name, OWN_WORD) || !strcmp(name, OWN_ALL_WORD))) {
		if (!own_begin(!strcmp(name, OWN_ALL_WORD))) {
			log_error(NULL, OWN_WORD " is for an ordinary user with one id");
			return EXIT_CODE_USAGE;
		}
		argc--;
		argv++;
		name = argv[1];
	}
	if (environment_prepare(&err)) {
		log_error(NULL, "%s", err.text);
		return err.code;
	}
	if (argc > 2 && !strcmp(name, "--complete")) {
		complete_begin();
		argc--;
		argv++;
		name = argv[1];
		if (argc == 2 || (argc == 3 && !strcmp(name, "help")))
			return complete_first(argv[argc - 1]);
	}
	if (!name && isatty(STDOUT_FILENO))
		return greet();
	if (!name || !*name)
		return print_usage(stderr);
	if (name[strspn(name, "0123456789")] == '\0')
		return record_pid(argc, argv);
	if (argc > 2 && !strcmp(name, "help")) {
		argv[1] = argv[2];
		argv[2] = (char *)"--help";
		name = argv[1];
		argc = 3;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return print_usage(stdout);
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	command = find_command(name);
	if (!command)
		return EXIT_CODE_USAGE;
	if (take_rights(command))
		return EXIT_CODE_PERMISSION;
	argv[1] = (char *)command->full_name;
	return command->run(argc - 1, argv + 1);
}
