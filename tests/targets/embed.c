// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter of the shared-library kind: nothing of CPython is in this program, all of it is
 * in libpython3.X.so. scripts/pythons links it against the library in a root folder, whose
 * headers are not here, so the one function is declared by hand.
 */
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
