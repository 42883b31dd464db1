/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/spool_cursors.h"

#include "agent/export/spool_format.h"

static __u64 place_of(unsigned i, __u64 generation)
{
	return (2 * i + generation % 2) * sizeof(struct spool_cursor_slot);
}

void spool_cursors_load(struct spool_cursors *c, int fd)
{
	*c = (struct spool_cursors){ .fd = fd };
	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++) {
		for (unsigned turn = 0; turn < 2; turn++) {
			struct spool_cursor *cursor = &c->list[i];
			struct spool_cursor_slot slot;

			if (spool_pread(fd, &slot, sizeof(slot), place_of(i, turn)) ||
			    !spool_slot_is_good(&slot) ||
			    (cursor->key && slot.generation < cursor->generation))
				continue;
			cursor->key = slot.key;
			cursor->next_seq = slot.next_seq;
			cursor->generation = slot.generation;
		}
	}
}

int spool_cursors_save(struct spool_cursors *c, unsigned i)
{
	struct spool_cursor *cursor = &c->list[i];
	struct spool_cursor_slot slot = {
		.key = cursor->key,
		.next_seq = cursor->next_seq,
		.generation = ++cursor->generation,
	};

	spool_slot_seal(&slot);
	return spool_pwrite(c->fd, &slot, sizeof(slot), place_of(i, slot.generation));
}

int spool_cursors_find(const struct spool_cursors *c, __u64 key)
{
	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++)
		if (c->list[i].key == key)
			return (int)i;
	return -1;
}

static bool is_among(__u64 key, const __u64 *keys, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++)
		if (keys[i] == key)
			return true;
	return false;
}

int spool_cursors_free(const struct spool_cursors *c)
{
	return spool_cursors_find(c, 0);
}

int spool_cursors_abandoned(const struct spool_cursors *c, const __u64 *keys, unsigned key_cnt)
{
	int slowest = -1;

	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++) {
		const struct spool_cursor *cursor = &c->list[i];

		if (cursor->key && !is_among(cursor->key, keys, key_cnt) &&
		    (slowest < 0 || cursor->next_seq < c->list[slowest].next_seq))
			slowest = (int)i;
	}
	return slowest;
}

__u64 spool_cursors_last(const struct spool_cursors *c)
{
	__u64 last = 0;

	for (unsigned i = 0; i < SPOOL_CURSORS_MAX; i++)
		if (c->list[i].key && c->list[i].next_seq > last)
			last = c->list[i].next_seq;
	return last;
}
