/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KRAIT_CMD_AGENT_AGENT_SNAPSHOT_H
#define KRAIT_CMD_AGENT_AGENT_SNAPSHOT_H

/* argv[0] is the command, as for other commands. Returns an exit code. */
int cmd_agent_snapshot(int argc, char **argv);

#endif /* KRAIT_CMD_AGENT_AGENT_SNAPSHOT_H */
