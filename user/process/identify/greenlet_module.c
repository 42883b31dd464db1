/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/greenlet_module.h"

#include <errno.h>
#include <string.h>

#include "python/layout/greenlet_layout.h"
#include "process/proc/maps.h"

/* Mappings of the module. */
#define PARTS_MAX 16

static bool is_module(const struct maps_line *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash && !strncmp(slash + 1, "_greenlet.", strlen("_greenlet."));
}

/* Its file's data mappings are adjacent; those without a file may be its own, too. */
int greenlet_module_find(struct greenlet_layout *l, int dir, __u64 *ret_base_addr)
{
	struct {
		__u64 start, end;
	} parts[PARTS_MAX];
	struct maps_line line;
	struct maps maps;
	__u32 cnt = 0;
	int err = maps_open_at(&maps, dir), found;

	if (err)
		return err;
	while ((found = maps_next(&maps, &line)) > 0 && cnt < PARTS_MAX) {
		if (!is_module(&line))
			continue;
		parts[cnt].start = line.start;
		parts[cnt++].end = line.end;
	}
	maps_close(&maps);
	if (found < 0)
		return found;
	if (!cnt)
		return -ENOENT;
	*ret_base_addr = parts[0].start;
	err = -ENOENT;
	for (__u32 i = cnt; i-- > 0 && err == -ENOENT;)
		err = greenlet_layout_find(l, parts[i].start, parts[i].end, parts[0].start,
					   parts[cnt - 1].end);
	return err ? -EPROTONOSUPPORT : 0;
}
