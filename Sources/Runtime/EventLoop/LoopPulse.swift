internal import Synchronization

/// What a loop was doing at the moment when somebody looked, from any thread.
///
/// Two looks with the same ``turn`` and a ``phase`` other than ``LoopPhase/waiting`` mean that the loop has been at that one turn
/// all the time in between.
public struct LoopPulse: Sendable, Hashable {
  /// Counts the turns of the loop.
  public let turn: UInt64
  /// What part of the turn it was at.
  public let phase: LoopPhase
  /// The identity of the task whose job ran, while ``phase`` is ``LoopPhase/tasks``; see ``EventLoop/identity(of:)``. 0 for none.
  public let task: UInt
}

/// The parts of a loop's turn, in their order.
public enum LoopPhase: UInt64, Sendable {
  /// Nothing to do: it waits for the kernel.
  case waiting
  /// It tells handlers that their descriptors are ready.
  case descriptors
  /// It fires timers.
  case timers
  /// It takes messages from other threads.
  case messages
  /// It runs tasks that were resumed.
  case tasks
  /// It does what was put off to the end of the turn: writes to sockets, syncs of database connections.
  case endOfTick
}

extension EventLoop {
  /// What the loop is doing now. May be called from any thread.
  public var pulse: LoopPulse {
    let word = stage.load(ordering: .relaxed)
    return LoopPulse(
      turn: word >> 3, phase: LoopPhase(rawValue: word & 7) ?? .waiting, task: currentTask.load(ordering: .relaxed))
  }

  /// What ``LoopPulse/task`` says while a job of this task runs. A task's address, so it means nothing once the task has ended.
  public static func identity(of task: Task<Void, Never>) -> UInt {
    // SAFETY: a task is a reference to its object, of which only the address is read.
    unsafeBitCast(task, to: UInt.self)
  }

  static func identity(of job: UnownedJob) -> UInt {
    // SAFETY: the job of a task is the task's object itself, of which only the address is read.
    unsafeBitCast(job, to: UInt.self)
  }
}
