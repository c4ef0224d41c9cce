// Samples of a batch as Python holds them: their parts side by side, and the content of small values in one piece.
// What is not plain is left to Python: the answer is None then, never an error of a value.
#include <cstring>
#include <vector>

#include "bind/bind.h"

namespace nb = nanobind;

namespace headrace {
namespace {

bool is_plain(nb::handle values) { return PyList_CheckExact(values.ptr()) || PyTuple_CheckExact(values.ptr()); }

size_t size_of(nb::handle values) {
  const Py_ssize_t size = PySequence_Size(values.ptr());
  if (size < 0) throw nb::python_error();
  return static_cast<size_t>(size);
}

// A value of a list or tuple, borrowed; raises where the list has become shorter.
PyObject* value_at(nb::handle values, size_t row) {
  const auto place = static_cast<Py_ssize_t>(row);
  PyObject* value =
      PyList_Check(values.ptr()) ? PyList_GetItem(values.ptr(), place) : PyTuple_GetItem(values.ptr(), place);
  if (value == nullptr) throw nb::python_error();
  return value;
}

nb::object tuple_columns(nb::handle samples, size_t num_parts) {
  if (!is_plain(samples)) return nb::none();
  const size_t num_rows = size_of(samples);
  nb::list columns;
  for (size_t part = 0; part < num_parts; ++part) {
    nb::object column = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(num_rows)));
    if (!column.is_valid()) throw nb::python_error();
    columns.append(column);
  }
  // No code of others runs from here on: nobody sees a column with holes.
  for (size_t row = 0; row < num_rows; ++row) {
    PyObject* sample = value_at(samples, row);
    if (!PyTuple_CheckExact(sample) || PyTuple_Size(sample) != static_cast<Py_ssize_t>(num_parts)) return nb::none();
    for (size_t part = 0; part < num_parts; ++part) {
      PyObject* value = PyTuple_GetItem(sample, static_cast<Py_ssize_t>(part));
      Py_INCREF(value);
      PyTuple_SetItem(PyList_GetItem(columns.ptr(), static_cast<Py_ssize_t>(part)), static_cast<Py_ssize_t>(row),
                      value);
    }
  }
  return columns;
}

// Views of the content of some values, released together.
class Views {
 public:
  explicit Views(size_t most) { views_.reserve(most); }
  ~Views() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
  }
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  // Whether the value lies in one piece, and has the shape and format of those before it.
  bool add(PyObject* value) {
    Py_buffer& view = views_.emplace_back();
    if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
      views_.pop_back();
      if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_BufferError)) {
        throw nb::python_error();
      }
      PyErr_Clear();
      return false;
    }
    return is_like(view, views_.front());
  }

  nb::object content() const {
    const size_t size = static_cast<size_t>(views_.front().len);
    auto content = nb::steal(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size * views_.size())));
    if (!content.is_valid()) throw nb::python_error();
    char* target = PyByteArray_AsString(content.ptr());
    // Nothing in between: what is not in the processor's cache is fetched side by side.
    for (const Py_buffer& view : views_) {
      std::memcpy(target, view.buf, size);
      target += size;
    }
    return content;
  }

 private:
  static bool is_like(const Py_buffer& one, const Py_buffer& first) {
    if (one.ndim != first.ndim || one.itemsize != first.itemsize || one.len != first.len) return false;
    for (int dim = 0; dim < one.ndim; ++dim) {
      if (one.shape[dim] != first.shape[dim]) return false;
    }
    return one.format == first.format ||
           (one.format != nullptr && first.format != nullptr && std::strcmp(one.format, first.format) == 0);
  }

  std::vector<Py_buffer> views_;
};

nb::object joined_content(nb::handle values) {
  const size_t num_rows = is_plain(values) ? size_of(values) : 0;
  if (num_rows == 0) return nb::none();
  PyTypeObject* kind = Py_TYPE(value_at(values, 0));
  Views views(num_rows);
  for (size_t row = 0; row < num_rows; ++row) {
    PyObject* value = value_at(values, row);
    if (Py_TYPE(value) != kind || !views.add(value)) return nb::none();
  }
  return views.content();
}

}  // namespace

void bind_rows(nb::module_& module) {
  module.def("tuple_columns", &tuple_columns, nb::arg("samples"), nb::arg("num_parts"));
  module.def("joined_content", &joined_content, nb::arg("values"));
}

}  // namespace headrace
