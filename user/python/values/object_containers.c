/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_containers.c - list, tuple, dict, set and frozenset.
 *
 * Include/cpython/{listobject,tupleobject,dictobject,setobject}.h; the keys of a dictionary are in
 * Objects/dict-common.h up to 3.10 and in Include/internal/pycore_dict.h from 3.11 on. A split table has its keys
 * in the type and its values apart; a deleted entry has no value.
 */
#include <errno.h>
#include <string.h>

#include "python/values/object_read.h"
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

/* Entries of a table to look through, including empty ones. */
#define ENTRIES_MAX 4096U
/* Read at once. */
#define BATCH 32U

/* ---- lists and tuples ------------------------------------------------------------------------- */

static void put_items(struct object_text *t, __u64 items_addr, __u64 cnt)
{
	for (__u64 i = 0; i < cnt; i++) {
		__u64 addr;

		if (i)
			object_put(t, ", ");
		if (i == OBJECT_ITEMS_MAX || t->cut) {
			object_put(t, "…");
			return;
		}
		if (object_read_u64(t, items_addr + 8 * i, &addr))
			object_put(t, "<?>");
		else
			object_put_value(t, addr);
	}
}

static void put_list(struct object_text *t, const struct object_head *h)
{
	__u64 words[2]; /* ob_size, ob_item */

	if (object_read(t, h->addr + t->layout->header, words, sizeof(words))) {
		object_put(t, "<?>");
		return;
	}
	object_put(t, "[");
	put_items(t, words[1], words[0]);
	object_put(t, "]");
}

static void put_tuple(struct object_text *t, const struct object_head *h)
{
	__u64 cnt;

	if (object_read_u64(t, h->addr + t->layout->header, &cnt)) {
		object_put(t, "<?>");
		return;
	}
	object_put(t, "(");
	put_items(t, h->addr + t->layout->tuple_items, cnt);
	object_put(t, cnt == 1 ? ",)" : ")");
}

/* ---- sets ------------------------------------------------------------------------------------- */

struct set_entry {
	__u64 key_addr;
	__s64 hash; /* -1: deleted */
};

static unsigned put_entries(struct object_text *t, __u64 table_addr, __u64 cnt)
{
	struct set_entry entries[BATCH];
	unsigned shown = 0;

	for (__u64 at = 0; at < cnt && at < ENTRIES_MAX; at += BATCH) {
		__u64 n = cnt - at < BATCH ? cnt - at : BATCH;

		if (object_read(t, table_addr + at * sizeof(*entries), entries,
				n * sizeof(*entries)))
			break;
		for (__u64 i = 0; i < n; i++) {
			if (!entries[i].key_addr || entries[i].hash == -1)
				continue;
			if (shown)
				object_put(t, ", ");
			if (shown++ == OBJECT_ITEMS_MAX || t->cut) {
				object_put(t, "…");
				return shown;
			}
			object_put_value(t, entries[i].key_addr);
		}
	}
	return shown;
}

static void put_set(struct object_text *t, const struct object_head *h, const char *name)
{
	__u64 words[4]; /* fill, used, mask, table */
	bool frozen = !strcmp(name, "frozenset");

	if (object_read(t, h->addr + t->layout->header, words, sizeof(words))) {
		object_put(t, "<?>");
		return;
	}
	if (!words[1]) {
		object_putf(t, "%s()", name);
		return;
	}
	object_put(t, frozen ? "frozenset({" : "{");
	put_entries(t, words[3], words[2] + 1);
	object_put(t, frozen ? "})" : "}");
}

/* ---- dictionaries ----------------------------------------------------------------------------- */

struct keys {
	__u64 entries_addr, entry_cnt;
	unsigned entry_size, key_at; /* bytes */
};

static int read_new_keys(struct object_text *t, __u64 addr, struct keys *ret)
{
	struct {
		__u64 refcnt;
		__u8 log2_size, log2_index_bytes, kind, lock;
		__u32 version;
		__u64 usable, entry_cnt;
	} head;
	int err = object_read(t, addr, &head, sizeof(head));

	if (err)
		return err;
	if (head.log2_index_bytes > 40 || head.kind > 2)
		return -EINVAL;
	ret->entries_addr = addr + sizeof(head) + (1ULL << head.log2_index_bytes);
	ret->entry_cnt = head.entry_cnt;
	/* Tables whose keys are all strings store no hashes. */
	ret->entry_size = head.kind ? 16 : 24;
	ret->key_at = head.kind ? 0 : 8;
	return 0;
}

static int read_old_keys(struct object_text *t, __u64 addr, struct keys *ret)
{
	__u64 words[5]; /* refcnt, size, lookup, usable, nentries */
	int err = object_read(t, addr, words, sizeof(words));
	__u64 size;

	if (err)
		return err;
	size = words[1];
	if (!size || size & (size - 1) || size > 1ULL << 40)
		return -EINVAL;
	ret->entries_addr = addr + sizeof(words) +
			    size * (size <= 0xff       ? 1 :
				    size <= 0xffff     ? 2 :
				    size <= 0xffffffff ? 4 :
							 8);
	ret->entry_cnt = words[4];
	ret->entry_size = 24;
	ret->key_at = 8;
	return 0;
}

/*
 * The insertion order of attributes in a split table: indexes of keys. It precedes the values up to
 * 3.12, and follows them from 3.13 on (Include/internal/pycore_dict.h, struct _dictvalues).
 */
static int read_order(struct object_text *t, __u64 values_addr, __u8 order[256], __u32 *ret_cnt)
{
	__u8 head[2];
	int err;

	if (t->layout->values_header) {
		err = object_read(t, values_addr, head, 2); /* capacity, size */
		*ret_cnt = head[1];
		return err ? err :
			     object_read(t, values_addr + t->layout->values_header + 8ULL * head[0],
					 order, *ret_cnt);
	}
	err = object_read(t, values_addr - 2, head, 2); /* size, size of what precedes */
	*ret_cnt = head[0];
	if (err)
		return err;
	err = object_read(t, values_addr - 2 - *ret_cnt, order, *ret_cnt);
	for (__u32 i = 0; i < *ret_cnt / 2; i++) {
		__u8 last = order[*ret_cnt - 1 - i];

		order[*ret_cnt - 1 - i] = order[i];
		order[i] = last;
	}
	return err;
}

static int each_value(struct object_text *t, const struct keys *k, __u64 values_addr,
		      object_item_fn fn, void *ctx)
{
	__u8 order[256];
	__u32 cnt;
	int err = read_order(t, values_addr, order, &cnt);

	for (__u32 i = 0; !err && i < cnt; i++) {
		__u64 key_addr, value_addr;

		if (order[i] >= k->entry_cnt)
			return -EINVAL;
		err = object_read_u64(t, k->entries_addr + order[i] * k->entry_size + k->key_at,
				      &key_addr);
		if (!err)
			err = object_read_u64(
				t, values_addr + t->layout->values_header + 8ULL * order[i],
				&value_addr);
		if (!err && key_addr && value_addr && !fn(t, ctx, key_addr, value_addr))
			break;
	}
	return err;
}

int object_each_key(struct object_text *t, __u64 keys_addr, __u64 values_addr, object_item_fn fn,
		    void *ctx)
{
	struct keys k;
	int err = t->layout->keys_have_kind ? read_new_keys(t, keys_addr, &k) :
					      read_old_keys(t, keys_addr, &k);

	if (!err && values_addr && t->layout->keys_have_kind)
		return each_value(t, &k, values_addr, fn, ctx);
	for (__u64 i = 0; !err && i < k.entry_cnt && i < ENTRIES_MAX; i++) {
		__u64 pair[2]; /* key, value */

		err = object_read(t, k.entries_addr + i * k.entry_size + k.key_at, pair,
				  sizeof(pair));
		if (!err && values_addr)
			err = object_read_u64(t, values_addr + t->layout->values_header + 8 * i,
					      &pair[1]);
		if (!err && pair[0] && pair[1] && !fn(t, ctx, pair[0], pair[1]))
			break;
	}
	return err;
}

int object_each_item(struct object_text *t, __u64 dict_addr, object_item_fn fn, void *ctx)
{
	__u64 words[4]; /* ma_used, a version, ma_keys, ma_values */
	int err = object_read(t, dict_addr + t->layout->header, words, sizeof(words));

	if (err)
		return err;
	return words[0] ? object_each_key(t, words[2], words[3], fn, ctx) : 0;
}

bool object_finding_item(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr)
{
	cleanup_free char *text = NULL;
	struct object_finding *f = ctx;

	t->reads += 2;
	if (py_string_read_any(t->memory, t->layout->offsets, key_addr, &text))
		return true;
	if (!strcmp(text, f->key))
		f->value_addr = value_addr;
	return !f->value_addr;
}

__u64 object_dict_find(struct object_text *t, __u64 dict_addr, const char *key)
{
	struct object_finding f = { .key = key };

	if (object_each_item(t, dict_addr, object_finding_item, &f))
		return 0;
	return f.value_addr;
}

static bool put_item(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr)
{
	unsigned *shown = ctx;

	if (*shown)
		object_put(t, ", ");
	if ((*shown)++ == OBJECT_ITEMS_MAX || t->cut) {
		object_put(t, "…");
		return false;
	}
	object_put_value(t, key_addr);
	object_put(t, ": ");
	object_put_value(t, value_addr);
	return true;
}

static void put_dict(struct object_text *t, const struct object_head *h)
{
	unsigned shown = 0;

	object_put(t, "{");
	if (object_each_item(t, h->addr, put_item, &shown))
		object_put(t, "<?>");
	object_put(t, "}");
}

/* ---- all -------------------------------------------------------------------------------------- */

static void put_plain(struct object_text *t, const struct object_head *h)
{
	if (h->flags & TYPE_LIST)
		put_list(t, h);
	else if (h->flags & TYPE_TUPLE)
		put_tuple(t, h);
	else
		put_dict(t, h);
}

bool object_put_container(struct object_text *t, const struct object_head *h)
{
	if (!strcmp(h->type_name, "set") || !strcmp(h->type_name, "frozenset")) {
		put_set(t, h, h->type_name);
		return true;
	}
	if (!(h->flags & (TYPE_LIST | TYPE_TUPLE | TYPE_DICT)))
		return false;
	if (strcmp(h->type_name, "list") && strcmp(h->type_name, "tuple") &&
	    strcmp(h->type_name, "dict")) {
		object_putf(t, "<%s ", object_class_name(h));
		put_plain(t, h);
		object_put(t, ">");
	} else {
		put_plain(t, h);
	}
	return true;
}
