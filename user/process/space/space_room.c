/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/space/space_room.h"

#include <errno.h>

int space_room_init(struct space_room *r)
{
	*r = (struct space_room){
		.quota = quota__new(MAPS_ROOM_MAX, MAPS_ROOM_MAX / 8),
		.files = quota__new(MAPS_FILE_UNITS_MAX, MAPS_FILE_UNITS_MAX / 8),
	};
	if (r->quota && r->files)
		return 0;
	space_room_free(r);
	return -ENOMEM;
}

void space_room_free(struct space_room *r)
{
	quota__free(r->quota);
	quota__free(r->files);
	*r = (struct space_room){ .quota = NULL };
}

bool space_room_may_read(const struct space_room *r, unsigned owner, __u64 now_ns)
{
	return now_ns >= r->again_ns[owner % OWNER_CNT];
}

void space_room_was_read(struct space_room *r, unsigned owner, __u64 now_ns, __u64 took_ns)
{
	if (took_ns > MAPS_READ_LITTLE_NS)
		r->again_ns[owner % OWNER_CNT] = now_ns + took_ns * MAPS_READ_PART;
}
