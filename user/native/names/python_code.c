/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/python_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/search.h"
#include "base/text/short_path.h"

/*
 * Sources of libpython3.8 to 3.15 (LIBRARY_OBJS in Makefile.pre.in, and modules that distributions
 * build in), without main.c: an application's has that name, too.
 */
static const char sources[] =
	" "
	"_abc _asynciomodule _bisectmodule _bz2module _codecs_cn _codecs_hk _codecs_iso2022 "
	"_codecs_jp _codecs_kr _codecs_tw _codecsmodule _collectionsmodule "
	"_contextvarsmodule _csv _datetimemodule _decimal _elementtree _functoolsmodule "
	"_hashopenssl _heapqmodule _hmacmodule _interpchannelsmodule _interpqueuesmodule "
	"_interpretersmodule _iomodule _json _localemodule _lsprof _lzmamodule _opcode "
	"_operator _peg_parser _pickle _posixsubprocess _queuemodule _randommodule "
	"_remote_debugging_module _sre _ssl _stat _statisticsmodule _struct _suggestions "
	"_threadmodule _tracemalloc _typesmodule _typingmodule _uuidmodule _warnings "
	"_weakref _xxinterpchannelsmodule _xxsubinterpretersmodule _zoneinfo abstract accu "
	"action_helpers arraymodule asdl asm_trampoline assemble ast ast_opt ast_unparse "
	"atexitmodule audioop binascii blake2b_impl blake2module blake2s_impl bltinmodule "
	"boolobject bootstrap_hash brc buffer bufferedio bytearrayobject bytes_methods "
	"bytesio bytesobject call capsule cellobject ceval ceval_gil classobject cmathmodule "
	"codecs codegen codeobject compile complexobject context critical_section "
	"crossinterp deepfreeze descrobject dictobject dtoa dynload_shlib enumobject "
	"errnomodule errors exceptions faulthandler fcntlmodule file_tokenizer fileio "
	"fileobject fileutils floatobject flowgraph formatter_unicode frame frameobject "
	"frozen frozenmain funcobject future gc gc_free_threading gc_gil gcmodule "
	"genericaliasobject genobject getargs getbuildinfo getcompiler getcopyright getopt "
	"getpath getplatform getversion graminit grammar1 grpmodule Hacl_Hash_Blake2b "
	"Hacl_Hash_Blake2s Hacl_Hash_MD5 Hacl_Hash_SHA1 Hacl_Hash_SHA2 Hacl_Hash_SHA3 "
	"Hacl_HMAC hamt hashtable helpers hmacmodule import importdl index_pool initconfig "
	"instruction_sequence instrumentation interpconfig interpolationobject "
	"interpreteridobject intrinsics iobase iterobject itertoolsmodule jit "
	"lazyimportobject legacy_tracing lexer listnode listobject lock longobject marshal "
	"mathmodule md5module memoryobject methodobject mmapmodule modsupport moduleobject "
	"multibytecodec myreadline mysnprintf mystrtoul namespaceobject node object "
	"object_stack obmalloc odictobject optimizer optimizer_analysis optimizer_symbols "
	"parking_lot parse parse_string parser parsetok pathconfig peephole peg_api pegen "
	"pegen_errors perf_jit_trampoline perf_trampoline picklebufobject posixmodule "
	"preconfig pwdmodule pyarena pyctype pydtrace pyexpat pyfpe pyhash pylifecycle "
	"pymath pystate pystrcmp pystrhex pystrtod Python-ast Python-tokenize pythonrun "
	"pytime qsbr rangeobject readline_tokenizer remote_debug remote_debugging resource "
	"selectmodule sentinelobject setobject sha1module sha256module sha2module sha3module "
	"sha512module signalmodule sliceobject slots socketmodule specialize spwdmodule sre "
	"stackrefs state string_parser string_tokenizer stringio structmember structseq "
	"suggestions symtable symtablemodule syslogmodule sysmodule templateobject termios "
	"textio thread thread_pthread timemodule token tokenizer traceback tracemalloc "
	"tupleobject typeobject typevarobject unicodectype unicodedata unicodeobject "
	"unionobject uniqueid utf8_tokenizer weakrefobject zlibmodule ";

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

bool python_code_is_init(const char *name)
{
	return starts_with(name, "PyInit_");
}

bool python_code_is_name(const char *name)
{
	return starts_with(name + (*name == '_'), "Py") && !python_code_is_init(name);
}

/* Debian's archive has "ceval.o" where others have "ceval.c". */
bool python_code_is_source(const char *name)
{
	const char *base = base_name(name), *dot = strrchr(base, '.'), *at;
	size_t len = dot ? (size_t)(dot - base) : 0;

	if (!len || strlen(dot) != 2 || !strchr("co", dot[1]))
		return false;
	for (at = memmem(sources, sizeof(sources), base, len); at;
	     at = memmem(at + 1, sizeof(sources) - (size_t)(at + 1 - sources), base, len))
		if (at > sources && at[-1] == ' ' && at[len] == ' ')
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct python_anchor *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void python_code_sort(struct python_anchor *anchors, size_t cnt)
{
	qsort(anchors, cnt, sizeof(*anchors), compare);
}

bool python_code_is_near(const struct python_anchor *anchors, size_t cnt, __u64 start)
{
	size_t behind = sorted_below(cnt, i, anchors[i].start <= start);

	return (behind && anchors[behind - 1].python) || (behind < cnt && anchors[behind].python);
}
