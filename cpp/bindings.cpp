#include <nanobind/nanobind.h>
#include "coupled_qp.hpp"
NB_MODULE(_core, module) { module.def("placeholder", &bagshift::placeholder); }
