/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.h - the subcommands. Each takes its own argv (argv[0] is "krait NAME") and returns
 * krait's exit code.
 */
#ifndef KRAIT_CMD_COMMON_COMMANDS_H
#define KRAIT_CMD_COMMON_COMMANDS_H

#include <stdbool.h>

int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_broker(int argc, char **argv);
int cmd_setup(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_version(int argc, char **argv);

/*
 * For krait broker's spare (cmd/broker/spare.h): loads the programs of such a recording, which this process may get to
 * make. Returns 0, or a negative result with *err filled; what is wrong with the words ends the program.
 */
struct error;
int record_load_ahead(int argc, char **argv, struct error *err);

/* What report --by takes, in order; NULL: there are no more. */
const char *report_by_name(unsigned i);
/* What krait convert does, for a command that has a capture and is to write outputs. */
struct convert_job {
	const char *capture; /* its path */
	const char *const *paths; /* at most 16 outputs */
	unsigned path_cnt;
	const char *format; /* NULL: by suffix */
	const char *command_line; /* that of the recording; NULL: the capture says it */
	const char *editor; /* as emit_options.editor */
	int compression; /* of captures among the outputs */
	bool lines, threads, wait_kernel, no_process, no_source, quiet, open;
	bool keep_old; /* a capture that is replaced becomes NAME.old */
};
/* Returns krait's exit code, after messages. */
int convert_capture(const struct convert_job *job);

/* What krait report --sort and -F take. */
const char *report_sort_name(unsigned i);
const char *report_field_name(unsigned i);

/* What --view and --sort of krait top take, in order; NULL: there are no more. */
const char *top_view_name(unsigned i);
const char *top_sort_name(unsigned i);

#endif /* KRAIT_CMD_COMMON_COMMANDS_H */
