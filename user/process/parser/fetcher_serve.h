/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetcher_serve.h - the role "fetcher" (base/worker/role.h): asks debuginfod servers for one file.
 */
#ifndef KRAIT_PROCESS_PARSER_FETCHER_SERVE_H
#define KRAIT_PROCESS_PARSER_FETCHER_SERVE_H

#include <linux/types.h>

#include "process/elf/elf_runtime.h"

/* Comes with one descriptor, to write to. */
struct fetcher_request {
	__u32 build_id_len;
	__u8 build_id[ELF_BUILD_ID_MAX];
};

/* 0; -ENOENT: no server has it; -ENOSYS: no libcurl; -errno. */
struct fetcher_answer {
	__s32 result;
};

/* Handles one request, with the servers of DEBUGINFOD_URLS. Returns the exit code. */
int fetcher_serve(int channel_fd);

#endif /* KRAIT_PROCESS_PARSER_FETCHER_SERVE_H */
