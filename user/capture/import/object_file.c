/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/object_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/dso/dso_store.h"
#include "process/proc/file_id.h"
#include "process/proc/open_file.h"
#include "process/space/modules.h"
#include "base/data/cleanup.h"
#include "base/text/log.h"
#include "base/text/short_path.h"

bool object_file_is_dso(const char *path)
{
	const char *name = base_name(path);

	return !strncmp(name, "python-", 7) && strspn(name + 7, "0123456789abcdef") == 8 &&
	       !strcmp(name + 15, ".so");
}

struct dso_reader *object_file_open_dso(const char *named, const __u8 *build_id,
					unsigned build_id_size, const char *capture_path)
{
	struct dso_reader *dso;
	char path[PATH_MAX];

	if (!object_file_is_dso(named))
		return NULL;
	if (capture_path &&
	    snprintf(path, sizeof(path), "%s.krait/%s", capture_path, base_name(named)) <
		    (int)sizeof(path) &&
	    !dso_reader__open(&dso, path, build_id, build_id_size))
		return dso;
	if (!dso_reader__open(&dso, named, build_id, build_id_size))
		return dso;
	if (!dso_store_cached_path(path, sizeof(path), build_id, build_id_size) &&
	    !dso_reader__open(&dso, path, build_id, build_id_size))
		return dso;
	return NULL;
}

/* Names are taken from the file only if it is the recorded one. */
static struct module *open_native(struct native_files *files, const struct object_file *new)
{
	/* A capture may name anything, even files that block or act when they are opened. */
	cleanup_close int fd = new->path[0] == '/' ? open_file_named(new->path) : -1;
	struct module *module;
	struct file_id file;
	const __u8 *id;
	struct stat st;
	unsigned size;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	file = file_id_of(&st);
	module = modules__get_id(native_files__modules(files), &file, new->path, 0);
	if (!module)
		return NULL;
	if (native_files__is_closed(files, module)) {
		bool remote = open_file_is_remote(fd);

		native_files__open_fd(files, module, take_fd(&fd), remote);
		native_files__read(files, module);
		native_files__search_debug(files, module, NULL);
	}
	id = module__build_id(module, &size);
	if (!id ||
	    (new->build_id_size && (size != new->build_id_size || memcmp(id, new->build_id, size))))
		return NULL;
	return module;
}

int object_file_open(struct object_file *f, const struct perf_read *record,
		     struct native_files *files, bool foreign, const char *capture_path)
{
	*f = (struct object_file){ .path = strdup(record->text),
				   .build_id_size = record->build_id_size,
				   .is_dso = object_file_is_dso(record->text) };
	if (!f->path)
		return -ENOMEM;
	memcpy(f->build_id, record->build_id, sizeof(f->build_id));
	if (!files)
		return 0;
	if (f->is_dso)
		f->dso = object_file_open_dso(f->path, f->build_id, f->build_id_size, capture_path);
	else if (!foreign || f->build_id_size)
		f->native = open_native(files, f);
	return 0;
}

void object_file_close(struct object_file *f)
{
	if (f->kernel)
		kernel_names_free(f->kernel);
	free(f->kernel);
	if (f->natives)
		native_names_free(f->natives);
	free(f->natives);
	free(f->path);
	dso_reader__free(f->dso);
}

bool object_file_is(const struct object_file *f, const struct perf_read *record)
{
	return !strcmp(f->path, record->text) && f->build_id_size == record->build_id_size &&
	       !memcmp(f->build_id, record->build_id, record->build_id_size);
}

const struct kernel_name *object_file_kernel(struct object_file *f, __u64 address)
{
	if (!f->dso)
		return NULL;
	if (!f->kernel) {
		f->kernel = calloc(1, sizeof(*f->kernel));
		/* What was read until memory ran out is usable. */
		if (f->kernel && kernel_names_read(f->kernel, dso_reader__notes(f->dso)))
			log_debug("capture", "%s: out of memory", f->path);
	}
	return f->kernel ? kernel_names_find(f->kernel, address) : NULL;
}

const struct native_name *object_file_native(struct object_file *f, const char *path, __u64 offset)
{
	if (!f->dso)
		return NULL;
	if (!f->natives) {
		f->natives = calloc(1, sizeof(*f->natives));
		if (f->natives && native_names_read(f->natives, dso_reader__notes(f->dso)))
			log_debug("capture", "%s: out of memory", f->path);
	}
	return f->natives ? native_names_find(f->natives, path, offset) : NULL;
}
