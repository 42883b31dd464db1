/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/printed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"
#include "base/text/stream.h"
#include "base/text/json.h"

int printed(const char *module, int err)
{
	if (!err || err == -EPIPE)
		return EXIT_CODE_OK;
	log_error(module, "cannot write: %s", output_file_strerror(err));
	return EXIT_CODE_OUTPUT;
}

/* Texts such as --help end the process themselves. Failures were already reported. */
static void settle(int status, void *unused)
{
	(void)unused;
	if (!status && printed(NULL, stream_finish(stdout)))
		_exit(EXIT_CODE_OUTPUT);
}

/* A text that fits into the buffer is written at once, at the end, where the reason of a failure is still known. */
void printed_at_exit(void)
{
	static char buffer[1 << 16];

	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	on_exit(settle, NULL);
}

int printed_open(struct output_file **ret, const char *path)
{
	int err = output_file__open(ret, path ? path : "-", OUTPUT_FILE_REPLACE);

	if (!err)
		return EXIT_CODE_OK;
	log_error(NULL, "%s: %s", path ? path : "-", output_file_strerror(err));
	return EXIT_CODE_OUTPUT;
}

int printed_finish(struct output_file *file, const char *path, int err)
{
	int code;

	if (!err)
		err = output_file__finish(file);
	code = printed(NULL, err);
	if (!err && path && strcmp(path, "-"))
		log_info(NULL, "wrote %s%s", path,
			 printed_is_page(path) ? ": open it in a browser" : "");
	return code;
}

bool printed_is_page(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	return len > 5 && !strcmp(path + len - 5, ".html");
}

static void put_schema(struct json *j, const char *what, const char *version_key)
{
	char schema[32];

	snprintf(schema, sizeof(schema), "krait.%s", what);
	json_put_string(j, "schema", schema);
	json_put_number(j, version_key, 1);
}

void printed_json_head(struct json *j, const char *what)
{
	put_schema(j, what, "version");
	json_put_string(j, "krait", KRAIT_VERSION);
}

void printed_json_row(struct json *j, const char *what)
{
	put_schema(j, what, "schema_version");
}
