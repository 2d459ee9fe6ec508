// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind_tune.h"
#include "driver/tune_space.h"
#include "error.h"
#include "lock.h"
#include "native_schedule.h"
#include "support/function_ref.h"
#include "support/str.h"
#include "target/host.h"
#include "tune/space/no_candidates.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

using tune::KnobKind;

/// A value as Python has it: numbers of a split or an order, a label, a number, or a truth.
nb::object value_object(const tune::Knob& knob, const tune::Value& value) {
  switch (knob.kind) {
    case KnobKind::Split:
    case KnobKind::Order: return nb::tuple(nb::cast(value));
    case KnobKind::Choice: return nb::cast(knob.labels.at(static_cast<size_t>(value[0])));
    case KnobKind::Bool: return nb::bool_(value[0] != 0);
    case KnobKind::Number: return nb::cast(value[0]);
  }
  throw InternalError("unknown kind of knob");
}

/// The functions that a space calls. It holds them by this alone, where Python's collector sees
/// them: they see the module they are of, which may hold the space.
struct Functions {
  std::vector<nb::object> all;
  bool complete = false;  // constraints are those of the template's first run

  nb::handle keep(const nb::object& function) {
    if (!complete) all.push_back(function);
    return function;
  }
};

/// The knobs of one run of a template; nobody may ask them after it.
class Knobs {
 public:
  Knobs(tune::Knobs& to, std::shared_ptr<Functions> functions)
      : to_(&to), functions_(std::move(functions)) {}
  void end() {
    to_ = nullptr;
    functions_.reset();
  }
  std::string without_candidates;  // the knob at which the template had to give up

  nb::object split(const std::string& name, int64_t extent, int64_t parts,
                   std::optional<int64_t> most, bool tails) {
    if (parts < 1 || parts > 8)
      refuse_value("python.tune.split",
                   str("the split `", name, "` has ", parts, " parts beside the open one"),
                   "ask for 1 to 8");
    const tune::Knobs::SplitOptions options{
        .parts = static_cast<size_t>(parts), .most = most.value_or(INT64_MAX), .tails = tails};
    return ask({.name = name, .kind = KnobKind::Split},
               [&](tune::Knobs& k) { return k.split(name, extent, options); });
  }
  nb::object order(const std::string& name, size_t count) {
    return ask({.name = name, .kind = KnobKind::Order},
               [&](tune::Knobs& k) { return k.order(name, count); });
  }
  nb::object choice(const std::string& name, const std::vector<std::string>& labels) {
    return ask(
        {.name = name, .kind = KnobKind::Choice, .candidates = {}, .labels = labels},
        [&](tune::Knobs& k) { return tune::Value{static_cast<int64_t>(k.choice(name, labels))}; });
  }
  nb::object number(const std::string& name, const std::vector<int64_t>& candidates) {
    return ask({.name = name, .kind = KnobKind::Number},
               [&](tune::Knobs& k) { return tune::Value{k.number(name, candidates)}; });
  }
  nb::object boolean(const std::string& name) {
    return ask({.name = name, .kind = KnobKind::Bool},
               [&](tune::Knobs& k) { return tune::Value{k.boolean(name) ? 1 : 0}; });
  }

  void require(const std::string& text, const std::vector<std::string>& names,
               const nb::callable& holds) {
    std::vector<tune::Knob> about;
    for (const std::string& name : names)
      for (const tune::Knob& k : declared_)
        if (k.name == name) about.push_back(k);
    asked().require(
        text, names, [about, holds = functions_->keep(holds)](const tune::Values& values) {
          nb::list given;
          for (size_t i = 0; i < values.size(); ++i)
            given.append(value_object(about[i], *values[i]));
          return nb::cast<bool>(nb::bool_(called([&] { return holds(*nb::tuple(given)); })));
        });
  }

 private:
  tune::Knobs& asked() {
    if (!to_)
      refuse_value("python.tune.ended",
                   "the template has ended: its knobs cannot be asked any more",
                   "ask for them in the template's function");
    return *to_;
  }
  nb::object ask(tune::Knob knob, FunctionRef<tune::Value(tune::Knobs&)> declare) {
    try {
      const tune::Value value = declare(asked());
      declared_.push_back(std::move(knob));
      return value_object(declared_.back(), value);
    } catch (const tune::NoCandidates& none) {  // for Python to pass on to where the function runs
      without_candidates = none.knob;
      refuse_value("python.tune.knob", str("the knob `", none.knob, "` has no candidate"),
                   "loosen its bounds, or give it candidates");
    }
  }

  tune::Knobs* to_;
  std::shared_ptr<Functions> functions_;
  std::vector<tune::Knob> declared_;  // without candidates
};

/// Runs the function on a copy of the schedule, and takes over what it did.
tune::Template template_of(const std::string& name, const nb::callable& users,
                           const ir::TargetSpec& target, const std::shared_ptr<Functions>& kept) {
  return {
      name, [kept, target, function = kept->keep(users)](schedule::Schedule& s, tune::Knobs& k) {
        const nb::object steps = nb::cast(Schedule(s, target)), asked = nb::cast(Knobs(k, kept));
        Knobs& knobs = nb::cast<Knobs&>(asked);
        try {
          called(function, steps, asked);
        } catch (nb::python_error& e) {
          knobs.end();
          // The space counts what a template throws; an interrupt is for the whole search.
          if (e.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
          if (!knobs.without_candidates.empty()) throw tune::NoCandidates{knobs.without_candidates};
          throw;
        }
        knobs.end();
        s = nb::cast<Schedule&>(steps).steps;
      }};
}

/// A template for one function on one machine.
class Space {
 public:
  Space(const nb::object& what, const nb::callable& function, const std::string& name,
        const std::string& target)
      : task_(driver::task_of(function_of(what), target::parse_target(target))),
        space_(task_->func, template_of(name, function, task_->target, functions_),
               task_->target.instructions) {
    functions_->complete = true;
  }
  std::vector<nb::object>& functions() { return functions_->all; }

  std::string print() const { return space_.print(); }
  std::pair<double, bool> size() const { return {space_.size().points, space_.size().exact}; }
  nb::dict knobs() const {
    nb::dict out;
    for (const tune::Knob& k : space_.knobs()) {
      nb::list candidates;
      for (const tune::Value& v : k.candidates) candidates.append(value_object(k, v));
      out[nb::cast(k.name)] = candidates;
    }
    return out;
  }
  std::optional<std::string> random(uint64_t seed) const {
    ir::Random random(seed);
    const std::optional<tune::Point> p = space_.random(random);
    return p ? std::optional(space_.encode(*p)) : std::nullopt;
  }
  Schedule apply(const std::string& point) const {
    return {space_.apply(space_.decode(point)), task_->target};
  }

  driver::SpaceTuned search(driver::SpaceTuning options, const std::optional<nb::callable>& each) {
    options.on_batch = [&](const std::vector<tune::Record>& batch) {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      for (const tune::Record& r : batch)
        if (each) called(*each, r);
    };
    return driver::tune_space(task_, space_, options);
  }

 private:
  std::shared_ptr<Functions> functions_ = std::make_shared<Functions>();
  std::shared_ptr<const tune::Task> task_;
  tune::Space space_;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self))
    for (const nb::object& f : nb::inst_ptr<Space>(self)->functions()) Py_VISIT(f.ptr());
  return 0;
}
int clear(PyObject* self) {
  nb::inst_ptr<Space>(self)->functions().clear();
  return 0;
}
PyType_Slot collected[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                           {Py_tp_clear, reinterpret_cast<void*>(clear)},
                           {0, nullptr}};

nb::tuple three(const tune::Estimate& e) { return nb::make_tuple(e.median, e.low, e.high); }

}  // namespace

void bind_tune(nb::module_& m) {
  nb::class_<Knobs>(m, "Knobs")
      .def("split", &Knobs::split, nb::arg("name"), nb::arg("extent"), nb::arg("parts"),
           nb::arg("most").none(), nb::arg("tails"))
      .def("order", &Knobs::order)
      .def("choice", &Knobs::choice)
      .def("number", &Knobs::number)
      .def("boolean", &Knobs::boolean)
      .def("require", &Knobs::require);
  nb::class_<tune::Record>(m, "Record")
      .def_prop_ro("point", [](const tune::Record& r) { return r.point; })
      .def_prop_ro("trace", [](const tune::Record& r) { return r.trace; })
      .def_prop_ro("verdict",
                   [](const tune::Record& r) { return std::string(name(r.measurement.verdict)); })
      .def_prop_ro("error", [](const tune::Record& r) { return r.measurement.error; })
      .def_prop_ro("seconds", [](const tune::Record& r) { return three(r.measurement.time); })
      .def_prop_ro("ratio", [](const tune::Record& r) { return three(r.measurement.ratio); });
  nb::class_<Space>(m, "Space", nb::type_slots(collected))
      .def(nb::init<const nb::object&, const nb::callable&, const std::string&,
                    const std::string&>())
      .def("print", &Space::print)
      .def("size", &Space::size)
      .def("knobs", &Space::knobs)
      .def("random", &Space::random)
      .def("apply", &Space::apply)
      .def(
          "search",
          [](Space& s, int64_t trials, double seconds, int threads, uint64_t seed,
             const std::optional<std::string>& strategy, const std::string& records,
             const std::optional<nb::callable>& each) {
            driver::SpaceTuning options{.trials = trials,
                                        .seconds = seconds,
                                        .threads = threads,
                                        .seed = seed,
                                        .strategy = {},
                                        .records = records,
                                        .on_batch = {}};
            if (strategy) options.strategy = tune::strategy_from_name(*strategy);
            driver::SpaceTuned out = s.search(std::move(options), each);
            return nb::make_tuple(out.best, out.trials, out.why_done, out.refused);
          },
          nb::arg("trials"), nb::arg("seconds"), nb::arg("threads"), nb::arg("seed"),
          nb::arg("strategy").none(), nb::arg("records"), nb::arg("each").none());
}

}  // namespace tilewright::python
