/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * codedef.h - which code object a frame runs, recorded so that it stays true.
 *
 * Addresses of code objects are reused, and a process may be gone before user space can read a name.
 * So each frame gets a fingerprint of its code object, taken in the interrupt, and a code object met
 * for the first time is described at once: the very bytes of the object, of its two names and of its
 * line table leave as a snapshot, which user space parses with the code that parses live memory.
 *
 * Two direct-mapped tables of single words make that cheap: the fingerprint of (process, address,
 * code_object_generation), so that the object is read once per generation, and which (process,
 * address, fingerprint) have been described. No locks: a word is read and written whole, a collision
 * only costs a repeat, and a snapshot too many does no harm.
 *
 * Must hold: at most max_definitions snapshots per sample and CODE_BYTES_MAX bytes per process in a
 * second, each of bounded size and reads. What does not fit is left out as a whole; user space then reads
 * it from the target.
 */
#ifndef KRAIT_CODEDEF_H
#define KRAIT_CODEDEF_H

/* Header of the longest PyUnicode we know (free-threaded PyCompactUnicodeObject: 72 bytes). */
#define STRING_HEADER_MAX 128
/* PyBytes to its first byte: 32, free-threaded 48; up to ob_size it is the same in all old ones. */
#define BYTES_HEADER_MAX 64
#define OLD_BYTES_HEADER 32
#define TYPE_NAME_SIZE 8

/* Appends a region of the target's memory to the snapshot. 0, or 1 when it cannot be had whole. */
static __always_inline int snapshot_add(struct record_code *record, __u64 addr, __u32 size)
{
	__u32 index = record->region_cnt, pos = record->data_size;

	if (index >= CODE_REGIONS || pos >= CODE_DATA_SIZE || size > CODE_REGION_MAX)
		return 1;
	if (read_user(&record->data[masked(pos, CODE_DATA_SIZE - 1)],
		      at_most(size, CODE_REGION_MAX), addr))
		return 1;
	index = at_most(index, CODE_REGIONS - 1);
	record->regions[index].addr = addr;
	record->regions[index].size = size;
	record->regions[index].pos = pos;
	record->region_cnt = index + 1;
	record->data_size = pos + size;
	return record->data_size > CODE_DATA_SIZE;
}

/* A PyUnicode: its header says how much there is. */
static __always_inline int snapshot_string(struct record_code *record, const struct py_offsets *off,
					   __u64 addr)
{
	__u32 header = off->unicode.compact_size, state = 0, kind;
	__u64 length = 0;

	if (!addr || read_user_u64(&length, addr + off->unicode.length) ||
	    read_user(&state, sizeof(state), addr + off->unicode.state))
		return 1;
	kind = state >> PYOFF_STRING_STATE_SHIFT(off) & 7;
	if (length > CODE_REGION_MAX || kind > 4 || header > STRING_HEADER_MAX)
		return 1;
	return snapshot_add(record, addr, header + (__u32)length * kind);
}

/* The line table, a PyBytes. If it is too long it is left out: the names are useful by themselves. */
static __always_inline void snapshot_bytes(struct record_code *record, const struct py_offsets *off,
					   __u64 addr)
{
	__u32 header = off->bytes.ob_sval;
	__u64 size = 0;

	if (!addr || header > BYTES_HEADER_MAX || read_user_u64(&size, addr + off->bytes.ob_size) ||
	    size > CODE_REGION_MAX - BYTES_HEADER_MAX)
		return;
	if (!snapshot_add(record, addr, header + (__u32)size))
		record->has_lines = 1;
}

/*
 * Of the object's type what shows that it is PyCode_Type: the pointer to its name, and the name. The
 * name is in read-only data of a file, which a forked child has not in its page tables: left out
 * then, as user space knows the type from the parent.
 */
static __always_inline void snapshot_type(struct record_code *record, const struct py_offsets *off,
					  __u64 type_addr)
{
	__u64 name_addr = 0;

	if (!type_addr || read_user_u64(&name_addr, type_addr + off->object.tp_name))
		return;
	if (!snapshot_add(record, type_addr + off->object.tp_name, sizeof(name_addr)))
		snapshot_add(record, name_addr, TYPE_NAME_SIZE);
}

#define CODE_FIELD(window, off, field) window_u64(window, (off)->code.field, CODE_WINDOW_MASK)

/* The window is that of the code object, just read. 0, or 1 when there is no snapshot of it. */
static __always_inline int snapshot_code(struct record_code *record, const struct py_offsets *off,
					 const __u8 *window, __u64 code_addr)
{
	__s32 name = off->code.qualname == PYOFF_ABSENT ? off->code.name : off->code.qualname;

	record->region_cnt = 0;
	record->data_size = 0;
	record->has_lines = 0;
	if (snapshot_add(record, code_addr, PYOFF_CODE_WINDOW(off)))
		return 1;
	snapshot_type(record, off, window_u64(window, off->object.ob_type, CODE_WINDOW_MASK));
	if (snapshot_string(record, off, window_u64(window, name, CODE_WINDOW_MASK)) ||
	    snapshot_string(record, off, CODE_FIELD(window, off, filename)))
		return 1;
	/* The line table of 3.8 and 3.9 ends with the code: its length, from the object's header. */
	if (off->frame_kind == PY_FRAME_OBJECT && !off->lasti_shift &&
	    off->code.bytecode != PYOFF_ABSENT &&
	    snapshot_add(record, CODE_FIELD(window, off, bytecode), OLD_BYTES_HEADER))
		return 0;
	snapshot_bytes(record, off, CODE_FIELD(window, off, linetable));
	return 0;
}

/* State while one sample's frames are described; in per-CPU memory. */
struct describer {
	__u64 process; /* names the process for ever: pid and start */
	__u64 generation; /* 0 where the layout has none */
	__u32 index; /* of the frame that is next */
	__u32 frame_cnt;
	__u32 left; /* snapshots that this sample may still send */
	__u32 bytes; /* that they may take */
	__u8 window[WINDOW_SIZE(CODE_WINDOW_MASK + 1)];
};

static __always_inline __u64 describer_key(const struct describer *d, __u64 code_addr, __u64 more)
{
	return fingerprint_mix(fingerprint_mix(fingerprint_mix(0, d->process), code_addr), more);
}

/* What the process may send by now. */
static __always_inline __u32 describe_budget(const struct proc_info *proc, __u64 now_ns)
{
	__u64 bytes = proc->code_bytes + ((now_ns - proc->code_ns) >> CODE_RATE_SHIFT);

	return bytes < CODE_BYTES_MAX ? bytes : CODE_BYTES_MAX;
}

static __always_inline void describe_begin(struct describer *d, __u64 process, __u64 generation,
					   __u32 frame_cnt, __u32 max_definitions)
{
	d->process = process;
	d->generation = generation;
	d->index = 0;
	d->frame_cnt = frame_cnt;
	d->left = max_definitions;
}

/* Reads the object into d->window. 0, or 1 if it is not there. */
static __always_inline int describe_read(struct describer *d, const struct py_offsets *off,
					 __u64 code_addr)
{
	return read_user(d->window, PYOFF_CODE_WINDOW(off), code_addr);
}

/* word: where the fingerprint of this object is remembered. 0 if the object cannot be read. */
static __always_inline __u32 describe_fingerprint(struct describer *d, const struct py_offsets *off,
						  __u64 code_addr, __u64 key, __u64 *word)
{
	__u64 known = *word;
	__u32 fingerprint;

	if (known >> 32 == key >> 32 && (__u32)known)
		return (__u32)known;
	if (describe_read(d, off, code_addr))
		return 0;
	fingerprint = window_fingerprint(d->window, off);
	*word = (key & ~0xffffffffULL) | fingerprint;
	return fingerprint;
}

/* Fills the snapshot. 0, or 1 where user space has to read the object itself. */
static __always_inline int describe_snapshot(struct describer *d, const struct py_offsets *off,
					     const struct frame *f, struct record_code *record)
{
	if (describe_read(d, off, f->code_addr) ||
	    snapshot_code(record, off, d->window, f->code_addr))
		return 1;
	record->type = RECORD_CODE;
	record->size = CODE_RECORD_HEADER + record->data_size;
	record->code_addr = f->code_addr;
	record->fingerprint = f->fingerprint;
	record->pad_ = 0;
	return 0;
}

#endif /* KRAIT_CODEDEF_H */
