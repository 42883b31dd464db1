/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fingerprint.h - distinguishes code objects that lie at the same address at different times.
 *
 * A fingerprint mixes the pointers to qualname, filename and line table, the first line and (from
 * 3.12 on) co_version to 32 bits. The kernel takes it in the interrupt, user space from the same
 * window of the object; both call this. It is never 0, which means "not taken".
 */
#ifndef KRAIT_FINGERPRINT_H
#define KRAIT_FINGERPRINT_H

static inline __u64 fingerprint_mix(__u64 hash, __u64 value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static inline __u32 code_fingerprint(__u64 qualname_addr, __u64 filename_addr, __u64 linetable_addr,
				     __u32 first_line)
{
	__u64 hash = fingerprint_mix(0x6b72616974ULL, qualname_addr);

	hash = fingerprint_mix(hash, filename_addr);
	hash = fingerprint_mix(hash, linetable_addr);
	hash = fingerprint_mix(hash, first_line);
	return (__u32)(hash >> 32) | 1;
}

/*
 * Mixes in co_version (3.12+). Each new code object of an interpreter gets the next number, so it
 * tells objects apart even if their memory and all their strings were reused.
 */
static inline __u32 fingerprint_add(__u32 fingerprint, __u32 version)
{
	return (__u32)(fingerprint_mix(fingerprint, version) >> 32) | 1;
}

#endif /* KRAIT_FINGERPRINT_H */
