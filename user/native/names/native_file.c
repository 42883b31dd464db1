/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/native_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/space/modules.h"

/* Number of processes through which opening a file may fail. */
#define FAILURES_MAX 8

struct native_file *native_file_new(struct module *module)
{
	struct native_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->module = file->names.module = module;
	file->symbols.fd = file->symbols.debug_fd = -1;
	return file;
}

void native_file_free(struct native_file *file, struct symbol_reader *reader)
{
	name_ranges_clear(&file->names);
	symbol_reader__close(reader, &file->symbols);
	free(file);
}

void native_file_note_failure(struct native_file *file)
{
	file->tried = ++file->failures == FAILURES_MAX;
}

bool native_file_take(struct native_file *file, int fd, bool remote)
{
	struct stat st;

	if (file->symbols.bad || file->symbols.fd >= 0 || fstat(fd, &st) ||
	    !module__is_stat(file->module, &st))
		return false;
	file->symbols.fd = fd;
	/* Its server could block a parser, so it must not share one with root's other files. */
	file->symbols.owner = remote && !st.st_uid ? SYMBOL_OWNER_NOBODY : st.st_uid;
	file->symbols.everybody = st.st_mode & S_IROTH;
	file->symbols.size = (__u64)st.st_size;
	return true;
}

void native_file_take_vdso(struct native_file *file, int fd)
{
	file->symbols.fd = fd;
	file->symbols.owner = 0;
	file->symbols.size = 0;
}

void native_file_close(struct native_file *file, struct symbol_reader *reader)
{
	symbol_reader__close(reader, &file->symbols);
	file->tried = file->symbols.bad;
	file->read = false;
}

bool native_file_is_unread(const struct native_file *file)
{
	return file->symbols.fd >= 0 && !file->read;
}

void native_file_read(struct native_file *file, struct symbol_reader *reader)
{
	struct symbol_file *s = &file->symbols;
	struct parser_opened opened;
	int err = symbol_reader__open(reader, s, &opened);

	if (err && err != -EAGAIN && s->debug_fd >= 0) {
		close(s->debug_fd);
		s->debug_fd = -1;
		s->bad = false;
		err = symbol_reader__open(reader, s, &opened);
	}
	/* After -EAGAIN it is read at the next question. */
	file->read = err != -EAGAIN;
	if (err)
		return;
	file->wants_debug = !opened.has_symbols && opened.build_id_size && s->debug_fd < 0;
	module__set_build_id(file->module, opened.build_id, opened.build_id_size);
}

void native_file_add_debug(struct native_file *file, struct symbol_reader *reader, int fd)
{
	if (!file->wants_debug || file->symbols.fd < 0 || file->symbols.debug_fd >= 0 ||
	    file->symbols.bad) {
		close(fd);
		return;
	}
	file->symbols.debug_fd = fd;
	file->wants_debug = false;
	name_ranges_forget_unnamed(&file->names);
	native_file_read(file, reader);
}
