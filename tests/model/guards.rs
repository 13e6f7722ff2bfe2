//! The conditions of the statements, each by name, and which of them stand.
//!
//! Where the text says a condition twice (in two statements of one kind, or where a statement picks its rows and again
//! where it writes them) the guard is both: without it, neither says it.

/// One condition of one statement, or one thing that it must set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Guard {
    /// claim: `t.status = 'QUEUED'`, where it picks and where it writes.
    ClaimStatus,
    /// claim: `scheduled_at <= now()`.
    ClaimDue,
    /// claim: `i.state = 'working'`.
    ClaimWorking,
    /// claim: `i.lease_until > now()`.
    ClaimLease,
    /// claim: `claim_no = t.claim_no + 1`.
    ClaimRaisesToken,
    /// finish: `t.status = 'RUNNING'`.
    FinishStatus,
    /// finish: `t.claimed_by = $1`.
    FinishOwner,
    /// finish: `t.claim_no = $3`.
    FinishToken,
    /// finish: `NOT t.cancel_requested`, and the branch for it.
    FinishCancel,
    /// finish: counts where it ends as SUCCEEDED, zero everywhere else.
    FinishCounts,
    /// finish: `own`, that this same success had been committed before.
    FinishOwn,
    /// finish: its event, which `finished.sql` finds.
    FinishNoted,
    /// release: `t.status = 'RUNNING'`.
    ReleaseStatus,
    /// release: `t.claimed_by = $1`.
    ReleaseOwner,
    /// release: `t.claim_no = f.claim_no`.
    ReleaseToken,
    /// release: the branch for a requested cancel.
    ReleaseCancel,
    /// recover: `i.state IN ('lost', 'stopped')`.
    RecoverDead,
    /// recover: `'stopped'` is among them.
    RecoverStopped,
    /// recover: `i.lease_until < clock_timestamp()`.
    RecoverLease,
    /// recover: `t.status = 'RUNNING'`, where it reads and locks (`dead`) and where it writes (`upd`).
    RecoverStatus,
    /// recover: `t.claimed_by = dead.claimed_by` when it writes.
    RecoverOwner,
    /// recover: `t.claim_no = dead.claim_no` when it writes.
    RecoverToken,
    /// recover: the branch for a requested cancel.
    RecoverCancel,
    /// `declare_lost`: `lease_until < clock_timestamp()`.
    DeclareLostLease,
    /// `declare_lost`: `state NOT IN ('stopped', 'lost')`.
    DeclareLostAlive,
    /// heartbeat: `state NOT IN ('stopped', 'lost')`.
    HeartbeatAlive,
    /// `end_instance`: nothing is RUNNING under it.
    EndHoldsNothing,
    /// `end_instance`: `state NOT IN ('stopped', 'lost')`.
    EndAlive,
    /// decide: the version that was seen, where it judges and where it writes.
    DecideVersion,
    /// decide: the verb's own states, where it judges and where it writes.
    DecideStatus,
    /// decide: its event, which `decided.sql` finds.
    DecideNoted,
    /// The unique key of `events (operation_id, task_id)`.
    OperationKey,
    /// The unique key of `task_inputs (submission)`.
    SubmissionKey,
    /// Every statement: `version = t.version + 1`.
    RaisesVersion,
}

/// Which conditions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guards(u64);

impl Guards {
    /// The statements as they are.
    pub(crate) const ALL: Self = Self(u64::MAX);

    /// The statements without some of their conditions.
    pub(crate) fn without(gone: &[Guard]) -> Self {
        Self(gone.iter().fold(u64::MAX, |set, guard| set & !(1 << (*guard as u8))))
    }

    /// Whether what `guard` asks for is so, or nobody asks.
    pub(crate) fn pass(self, guard: Guard, is_so: bool) -> bool {
        is_so || !self.stands(guard)
    }

    /// Whether `guard` is part of its statement.
    pub(crate) const fn stands(self, guard: Guard) -> bool {
        self.0 & (1 << (guard as u8)) != 0
    }

    /// `number` and one more, if `guard` stands.
    pub(crate) const fn raised(self, guard: Guard, number: u8) -> u8 {
        if self.stands(guard) { number + 1 } else { number }
    }
}
