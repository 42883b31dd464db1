/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_demangle.c - names of C++, Rust, Cython and mypyc, including broken and endless ones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "native/names/demangle.h"
#include "base/data/cleanup.h"

static void expect(const char *name, const char *want)
{
	bool is_wrapper;
	cleanup_free char *got = demangle(name, &is_wrapper);

	assert_non_null(got);
	assert_string_equal(got, want);
}

static void expect_wrapper(const char *name, const char *want, bool want_wrapper)
{
	bool is_wrapper;
	cleanup_free char *got = demangle(name, &is_wrapper);

	assert_non_null(got);
	assert_string_equal(got, want);
	assert_int_equal(is_wrapper, want_wrapper);
}

/* Without a C++ library names stay mangled. */
static void need_library(void)
{
	bool is_wrapper;
	cleanup_free char *plain = demangle("_Z1fi", &is_wrapper);

	if (strcmp(plain, "f") != 0)
		skip();
}

static void other_names_stay(void **state)
{
	expect("", "");
	expect("PyEval_EvalFrameDefault", "PyEval_EvalFrameDefault");
	expect("_", "_");
	expect("Z1fi", "Z1fi");
	expect("clock_gettime@@GLIBC_2.17", "clock_gettime");
	expect("memcpy@plt", "memcpy@plt");
	expect("@x", "@x");
}

static void cpp_is_as_it_was_written(void **state)
{
	need_library();
	expect("_ZN5torch8autograd6Engine7executeEv", "torch::autograd::Engine::execute");
	expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
	       "std::vector<int, std::allocator<int>>::push_back");
	/* void f<int>(int*), const members, operators, conversions */
	expect("_Z1fIiEvPT_", "f<int>");
	expect("_ZNK5arrow5Array6lengthEv", "arrow::Array::length");
	expect("_ZN1AclEi", "A::operator()");
	expect("_ZNK1AltERKS_", "A::operator<");
	expect("_ZN1AcvjEv", "A::operator unsigned int");
	expect("_Znwm", "operator new");
	expect("_ZN1AD2Ev", "A::~A");
	expect("_ZN12_GLOBAL__N_11fEi", "(anonymous namespace)::f");
	/* f(int)::{lambda(int)#1}::operator()(int) const */
	expect("_ZZ1fiENKUliE_clEi", "f::{lambda(int)#1}::operator()");
	expect("_ZThn16_N1A1fEv", "non-virtual thunk to A::f");
	expect("_Z1fi.cold", "f");
	expect("_Z1fi.part.0.constprop.1", "f");
	/* Returns a pointer to a function: void (*f<int>(int))(int). */
	expect("_Z1gB5cxx11v", "g");
	expect("_Z1gNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "g");
	expect("_ZN1AINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE1fEv",
	       "A<std::string>::f");
}

static void long_arguments_of_templates_go(void **state)
{
	need_library();
	expect("_ZNSt8_Rb_treeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_S5_ESt10_"
	       "Select1stIS8_ESt4lessIS5_ESaIS8_EE8_M_eraseEPSt13_Rb_tree_nodeIS8_E",
	       "std::_Rb_tree<…>::_M_erase");
}

/* Mangled by rustc 1.95, demangled by c++filt 2.40. */
static void rust_is_a_path(void **state)
{
	expect("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	expect("_RINvCs1Jtr1MOEUFv_4asn121from_optional_defaultNtNtCsbt7wNemBi9E_17cryptography_"
	       "x5096common16MaskGenAlgorithmEBM_",
	       "asn1::from_optional_default::<cryptography_x509::common::MaskGenAlgorithm>");
	expect("_RNvMs0_NtCs1_5crate3modNtB4_4Type6method",
	       "_RNvMs0_NtCs1_5crate3modNtB4_4Type6method");
	expect("_RNvXCs1_1aNtB2_1TNtCs2_4core5Clone5clone", "<a::T as core::Clone>::clone");
	expect("_RNCNvCs1_1a1f0", "a::f::{closure#0}");
	expect("_RNCNCNvCs1_1a1f00B5_", "a::f::{closure#0}::{closure#0}");
	expect("_RINvCs1_1a1fShKj3_RmTylEKb1_E", "a::f::<[u8], 3, &u32, (u64, i32), true>");
	expect("_RNvCs1_1a1f.llvm.123456", "a::f");
	/* A reference to itself, to something later, and in a loop. */
	expect("_RNvB_3foo", "_RNvB_3foo");
	expect("_RNvB9_3foo", "_RNvB9_3foo");
	expect("_RINvCs1_1a1fTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTE",
	       "_RINvCs1_1a1fTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTE");
}

/* Real symbols of rustc 1.95's libraries, demangled by c++filt 2.40. */
static void types_of_rust_are_written_out(void **state)
{
	expect("_RNvXs1g_NtCs8NwYtU1Mohg_4core3fmtRDNtB6_5DebugEL_Bx_3fmtB8_",
	       "<&dyn core::fmt::Debug as core::fmt::Debug>::fmt");
	expect("_RNvXs0_NtCs8NwYtU1Mohg_4core3anyDNtB5_3AnyNtNtB7_6marker4SendEL_NtNtB7_3fmt5Debug3fmt",
	       "<dyn core::any::Any + core::marker::Send as core::fmt::Debug>::fmt");
	expect("_RNvXsq_NtCs8NwYtU1Mohg_4core3fmtONtNtB7_3ffi6c_voidNtB5_5Debug3fmtCsi4IsKQVxMg0_3std",
	       "<*mut core::ffi::c_void as core::fmt::Debug>::fmt");
	expect("_RNvXsp_NtCs8NwYtU1Mohg_4core3fmtPNtNtB7_3ffi6c_voidNtB5_5Debug3fmtB7_",
	       "<*const core::ffi::c_void as core::fmt::Debug>::fmt");
	expect("_RINvNtCs6AiuYGWa2VK_6ruzstd5frame17read_frame_headerQRShEB4_",
	       "ruzstd::frame::read_frame_header::<&mut &[u8]>");
	expect("_RNvXs0_NtCseQVuubCcFDg_12simd_adler324hashAhj0_NtB7_11Adler32Hash4hash",
	       "<[u8; 0] as simd_adler32::Adler32Hash>::hash");
	expect("_RNvXss_NtCs8NwYtU1Mohg_4core3fmtuNtB5_5Debug3fmt",
	       "<() as core::fmt::Debug>::fmt");
	/* Handmade: functions, bound lifetimes, numbers, shims, items named by a type. */
	expect("_RINvCs1_1a1fFUKCOhEmE", "a::f::<fn(*mut u8) -> u32>");
	expect("_RINvCs1_1a1fFK3abchEuE", "a::f::<fn(u8)>");
	expect("_RINvCs1_1a1fDG_INtB2_1TuEp1AhEL_E", "a::f::<dyn a::T<()>>");
	expect("_RINvCs1_1a1fLs_KanF_Kp_E", "_RINvCs1_1a1fLs_KanF_Kp_E");
	expect("_RINvCs1_1a1fL_Kan5_KpKyffffffffffffffff1_E", "a::f::<-5, _, 0xffffffffffffffff1>");
	expect("_RINvCs1_1a1fKb0_Kb1_KhB9_E", "_RINvCs1_1a1fKb0_Kb1_KhB9_E");
	expect("_RNSNvCs1_1a1f0", "a::f::{shim#0}");
	expect("_RNCs_NvCs1_1a1f3odd", "_RNCs_NvCs1_1a1f3odd");
	expect("_RNCNvCs1_1a1fs_1x", "a::f::{closure:x#1}");
	expect("_RNvYuNtCs1_1a1T1f", "<() as a::T>::f");
	expect("_RNvCs1_1au4tda_", "a::tda_");
	/* Long names lose the called item's arguments. */
	expect("_RINvCs1_1a1fNtB2_40aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaNtB2_"
	       "50bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbE",
	       "a::f::<…>");
}

static void broken_names_of_rust_stay(void **state)
{
	static const char whole[] = "_RNvXs1g_NtCs8NwYtU1Mohg_4core3fmtRDNtB6_5DebugEL_Bx_3fmtB8_";
	char name[sizeof(whole)];

	/* Cut anywhere, and with each byte replaced: there is always a result. */
	for (size_t i = 2; i < sizeof(whole) - 1; i++) {
		static const char others[] = "_0zZ9";
		bool is_wrapper;

		for (const char *other = others; *other; other++) {
			cleanup_free char *got = NULL;

			memcpy(name, whole, sizeof(whole));
			name[i] = *other;
			got = demangle(name, &is_wrapper);
			assert_non_null(got);
		}
		memcpy(name, whole, i);
		name[i] = '\0';
		{
			cleanup_free char *got = demangle(name, &is_wrapper);

			assert_non_null(got);
		}
	}
}

static void functions_of_cython_are_those_of_python(void **state)
{
	expect_wrapper("__pyx_pw_4lxml_5etree_8_Element_1append", "lxml.etree._Element.append",
		       true);
	expect_wrapper("__pyx_pf_4lxml_5etree_8_Element_append", "lxml.etree._Element.append",
		       false);
	expect_wrapper("__pyx_f_4lxml_5etree__textToString", "lxml.etree._textToString", false);
	expect_wrapper("__pyx_pw_3cym_1cy_obj", "cym.cy_obj", true);
	expect_wrapper("__pyx_gb_3cym_4generator", "cym.generator", false);
	expect_wrapper("__pyx_tp_dealloc_4lxml_5etree__Element", "lxml.etree._Element.__dealloc__",
		       false);
	expect_wrapper("__pyx_fuse_1_0__pyx_f_3cym_sum", "cym.sum", false);
	expect_wrapper("__pyx_pw_3cym_7__pyx_fuse_1sum", "cym.sum", true);
	/* Needed as for C++. */
	need_library();
	expect_wrapper("_ZL21__pyx_pw_3cym_1cy_objP7_objectS0_", "cym.cy_obj", true);
	/* Cython's own functions, and names that are not wrappers. */
	expect_wrapper("__Pyx_PyObject_Call", "__Pyx_PyObject_Call", false);
	expect_wrapper("__pyx_pw_", "__pyx_pw_", false);
	expect_wrapper("__pyx_pw_99", "__pyx_pw_99", false);
	expect_wrapper("__pyx_pw_99999999999999999999a_b", "a_b", true);
}

static void functions_of_mypyc_are_those_of_python(void **state)
{
	expect_wrapper("CPyDef_nodes___Node___accept", "nodes.Node.accept", false);
	expect_wrapper("CPyPy_nodes___Node___accept", "nodes.Node.accept", true);
	expect_wrapper("CPyDef_m___a___3_b", "m.a___b", false);
	expect_wrapper("CPyDef_", "CPyDef_", false);
	expect_wrapper("CPyDefault", "CPyDefault", false);
}

static void rust_loses_its_hash_and_nothing_else(void **state)
{
	need_library();
	expect("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	/* One hex digit is missing. */
	expect("_ZN4core3fmt5write17h0123456789abcdeGE", "core::fmt::write::h0123456789abcdeG");
	expect("_ZN4core3ptr31drop_in_place$LT$alloc..Vec$GT$17h0123456789abcdefE.llvm.12345",
	       "core::ptr::drop_in_place<alloc::Vec>");
	expect("_ZN43_$LT$a..T$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
	       "<a::T as core::fmt::Display>::fmt");
	/* A name that is only the hash. */
	expect("_ZN17h0123456789abcdefE", "h0123456789abcdef");
}

static void broken_names_stay(void **state)
{
	expect("_Z", "_Z");
	expect("_ZN", "_ZN");
	expect("_ZN99999999999999999999x", "_ZN99999999999999999999x");
	expect("_ZNSt6vectorIiSaIi", "_ZNSt6vectorIiSaIi");
	expect("_Z\xff\xfe", "_Z\xff\xfe");
}

static void endless_names_are_not_tried(void **state)
{
	cleanup_free char *name = malloc(100001);

	/* Pointers to pointers to ...: valid, but long when written out. */
	assert_non_null(name);
	memset(name, 'P', 100000);
	memcpy(name, "_Z1f", 4);
	memcpy(name + 99999, "i", 2);
	expect(name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_names_stay),
		cmocka_unit_test(cpp_is_as_it_was_written),
		cmocka_unit_test(long_arguments_of_templates_go),
		cmocka_unit_test(rust_is_a_path),
		cmocka_unit_test(types_of_rust_are_written_out),
		cmocka_unit_test(broken_names_of_rust_stay),
		cmocka_unit_test(functions_of_cython_are_those_of_python),
		cmocka_unit_test(functions_of_mypyc_are_those_of_python),
		cmocka_unit_test(rust_loses_its_hash_and_nothing_else),
		cmocka_unit_test(broken_names_stay),
		cmocka_unit_test(endless_names_are_not_tried),
	};

	return cmocka_run_group_tests_name("user/native/names/demangle.c", tests, NULL, NULL);
}
