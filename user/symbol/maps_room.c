/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/maps_room.h"

#include <errno.h>

int maps_room_init(struct maps_room *r)
{
	*r = (struct maps_room){
		.quota = quota__new(MAPS_ROOM_MAX, MAPS_ROOM_MAX / 8),
		.files = quota__new(MAPS_FILE_UNITS_MAX, MAPS_FILE_UNITS_MAX / 8),
	};
	if (r->quota && r->files)
		return 0;
	maps_room_free(r);
	return -ENOMEM;
}

void maps_room_free(struct maps_room *r)
{
	quota__free(r->quota);
	quota__free(r->files);
	*r = (struct maps_room){ .quota = NULL };
}

bool maps_room_may_read(const struct maps_room *r, unsigned owner, __u64 now_ns)
{
	return now_ns >= r->again_ns[owner % OWNER_CNT];
}

void maps_room_was_read(struct maps_room *r, unsigned owner, __u64 now_ns, __u64 took_ns)
{
	if (took_ns > MAPS_READ_LITTLE_NS)
		r->again_ns[owner % OWNER_CNT] = now_ns + took_ns * MAPS_READ_PART;
}
