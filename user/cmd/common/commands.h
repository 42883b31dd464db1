/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.h - the subcommands. Each takes its own argv (argv[0] is "krait NAME") and returns
 * krait's exit code.
 */
#ifndef KRAIT_CMD_COMMON_COMMANDS_H
#define KRAIT_CMD_COMMON_COMMANDS_H

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
int cmd_diff(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* What report --by takes, in order; NULL: there are no more. */
const char *report_by_name(unsigned i);
/* What krait report --sort and -F take. */
const char *report_sort_name(unsigned i);
const char *report_field_name(unsigned i);

/* What --view and --sort of krait top take, in order; NULL: there are no more. */
const char *top_view_name(unsigned i);
const char *top_sort_name(unsigned i);

#endif /* KRAIT_CMD_COMMON_COMMANDS_H */
