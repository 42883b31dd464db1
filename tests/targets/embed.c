// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter of the shared-library kind: this program contains nothing of CPython, which is all
 * in libpython3.X.so. scripts/pythons links it against the library in a root folder, whose headers
 * are not available here, so the only function is declared by hand.
 */
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
