/* SPDX-License-Identifier: BSD-2-Clause */
/* crunch_pybind11.cpp - as crunch.c, by pybind11. */
#include <pybind11/pybind11.h>

namespace py = pybind11;

static py::object crunch(long n)
{
	py::dict found;
	py::object total = py::int_(0);

	for (long i = 0; i < n; i++) {
		py::object number = py::int_(i * 1000003), square = number * number;

		found[number] = square;
		total = total + square;
		if (i % 500 == 0)
			found.clear();
	}
	return total;
}

static py::object call_back(py::object function)
{
	for (int i = 0; i < 20; i++)
		function();
	return function();
}

PYBIND11_MODULE(crunch_pybind11, m)
{
	m.def("crunch", &crunch);
	m.def("call_back", &call_back);
}
