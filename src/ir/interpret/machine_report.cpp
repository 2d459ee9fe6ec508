// SPDX-License-Identifier: Apache-2.0
// What goes wrong, in the user's names.
#include <algorithm>
#include <map>
#include <set>

#include "ir/interpret/machine.h"
#include "ir/print.h"
#include "support/str.h"

namespace tilewright::ir::run {
namespace {

constexpr size_t kMostWaiting = 8;  // kinds of waiting that a deadlock report lists

/// The first line of the statement's text, for programs that were not read from one.
std::string first_line(const StmtNode& stmt) {
  const std::string text = print(Stmt::of(stmt));
  return text.substr(0, text.find('\n'));
}

}  // namespace

void Machine::fail(std::string_view code, const StmtNode* at, std::string message,
                   std::vector<std::string> notes, std::string help) const {
  if (unwritten_) throw Error(unwritten_->diagnostic);  // what follows may be its consequence
  Diagnostic d{code, at ? at->span : Span{}, std::move(message), std::move(notes), std::move(help)};
  if (at && d.at.line == 0) d.notes.push_back(str("the statement is `", first_line(*at), "`"));
  throw Error(std::move(d));
}

std::string Machine::where(const StmtNode* stmt) const {
  if (!stmt) return "";
  if (stmt->span.line == 0) return str(" in `", first_line(*stmt), "`");
  return str(" in line ", stmt->span.line);
}

std::string Machine::name_of(const TaskName* n) const {
  if (!n) return str("`", func_.name, "` itself");
  std::string own;
  if (n->agent) {
    own = str("agent ", n->agent->name);
    if (n->agent->count > 1) own += str("[", n->agent_index, "]");
    if (n->agent->threads > 1) own += str(" thread ", n->index);
  } else if (n->stmt->kind == StmtKind::Async) {
    own = str("the async operation of item ", n->index, " of `",
              static_cast<const Async&>(*n->stmt).channel->name, "`");
  } else {
    const auto& loop = static_cast<const For&>(*n->stmt);
    const bool thread = loop.loop == ForKind::Bound;
    own = str(thread ? "" : "iteration ", loop.var.name(), " = ", n->index);
    if (thread) own = str(name(loop.axis), " ", own);
  }
  return n->parent ? str(name_of(n->parent.get()), ", ", own) : own;
}

std::string Machine::name_of(Epoch e) const {
  if (e.task == 0 || e.task >= names_.size()) return name_of(nullptr);
  const std::vector<NameOfId>& names = names_[e.task];
  for (size_t i = names.size(); i > 0; --i)
    if (names[i - 1].from <= e.time) return name_of(names[i - 1].name.get());
  return "an earlier iteration";
}

/// Reading an element without a value is an error. Among concurrent tasks the run goes on for a
/// while, since a writer that comes later and is not ordered makes it a race, which says more.
void Machine::note_unwritten(const Task& t, const Instance& m, int64_t element, bool race_checked) {
  if (!unwritten_) {
    try {
      fail("ir.run.uninitialised", stmt_at(t),
           str("`", element_name(m, element), "` is read before it has a value"),
           {str("in ", name_of(t))}, "write the element before reading it");
    } catch (const Error& e) {
      if (!race_checked || concurrent_ == 0) throw;
      unwritten_ = Unwritten{e.diagnostic, {}};
    }
  }
  unwritten_->elements.insert({&m, element});
}

std::string Machine::waits_for(const Task& t) const {
  if (t.state == TaskState::AtBarrier)
    return str("at a barrier that ", t.meeting->waiting.size(), " of ", t.meeting->participants,
               " threads have reached", where(stmt_at(t)));
  const auto& op = static_cast<const ChannelOp&>(*stmt_at(t));
  const ChannelNode& ch = *t.channel->channel;
  const bool acquire = op.op == ChannelOpKind::Acquire;
  const int64_t number = acquire ? t.item - ch.slots : t.item;
  const auto at = t.channel->items.find(number);
  const Item none;
  const Item& item = at == t.channel->items.end() ? none : at->second;
  std::string text = str("in `", name(op.op), " ", ch.name, "[", t.item, "]`", where(&op),
                         ": item ", number, " has ");
  if (acquire) return text + str(item.releases, " of ", ch.releases, " releases");
  text += str(item.commits, " of ", ch.commits, " commits");
  if (item.promised != item.delivered)
    text += str(" and ", item.delivered, " of ", item.promised, " bytes");
  return text;
}

/// Says who waits for what, one line for each kind of waiting.
void Machine::report_deadlock() const {
  std::map<std::string, std::pair<const Task*, int64_t>> kinds;
  std::set<std::string> awaited;
  const Task* first = nullptr;
  for (const auto& t : tasks_) {
    if (t->state != TaskState::AtBarrier && t->state != TaskState::AtChannel) continue;
    auto& [task, count] = kinds[waits_for(*t)];
    if (!task) task = t.get();
    ++count;
    if (!first) first = t.get();
    if (t->state == TaskState::AtBarrier) {
      const auto& b = static_cast<const Barrier&>(*stmt_at(*t));
      awaited.insert(str("`barrier ", name(b.reach), "`"));
      continue;
    }
    awaited.insert(str("`", t->channel->channel->name, "`"));
    // Nobody can deliver any more: the bytes are wrong, not the order.
    const auto at = t->channel->items.find(t->item);
    if (at == t->channel->items.end()) continue;
    const Item& item = at->second;
    if (item.commits == t->channel->channel->commits && item.pending == 0 &&
        item.delivered < item.promised)
      report_bytes(stmt_at(*t), *t->channel, t->item, item);
  }
  require(first != nullptr, "a deadlock in which nobody waits");
  std::vector<std::string> notes;
  for (const auto& [text, who] : kinds) {
    if (notes.size() == kMostWaiting) {
      notes.push_back("…");
      break;
    }
    notes.push_back(str(name_of(*who.first),
                        who.second > 1 ? str(" and ", who.second - 1, " more wait ") : " waits ",
                        text));
  }
  for (const auto& t : tasks_) {
    if (t->state != TaskState::AtBarrier) continue;
    const int64_t missing =
        t->meeting->participants - static_cast<int64_t>(t->meeting->waiting.size());
    const auto busy = std::count_if(tasks_.begin(), tasks_.end(), [&](const auto& other) {
      return other->state == TaskState::AtChannel ||
             (other->state == TaskState::AtBarrier && other->meeting != t->meeting);
    });
    if (missing > busy)
      notes.push_back(str(missing - busy, " thread", missing - busy > 1 ? "s" : "",
                          " ended without reaching the barrier"));
    break;
  }
  std::string names;
  for (const std::string& name : awaited) names += str(names.empty() ? "" : ", ", name);
  fail("ir.run.deadlock", stmt_at(*first),
       str("`", func_.name, "` comes to a standstill, waiting for ", names), std::move(notes),
       "every wait needs its commit, every acquire the release of the item one ring before, every "
       "barrier all of its threads");
}

}  // namespace tilewright::ir::run
