-- A second witness: every change of a task is written down by the database itself, beside what the program records,
-- with what the owner's lease was at that moment; every instance that was declared lost, and any that
-- rose again.
CREATE SCHEMA chaos;
CREATE TABLE chaos.steps (
    n                bigint      GENERATED ALWAYS AS IDENTITY,
    at               timestamptz NOT NULL DEFAULT clock_timestamp(),
    task_id          bigint      NOT NULL,
    old_status       text,
    old_version      bigint,
    old_claim_no     bigint,
    old_attempt      integer,
    old_owner        uuid,
    old_requested    boolean,
    old_max_attempts integer,
    new_status       text,
    new_version      bigint,
    new_claim_no     bigint,
    new_attempt      integer,
    new_owner        uuid,
    new_requested    boolean,
    new_max_attempts integer,
    -- When the statement's transaction began, and the instance that claims, or that held the claim.
    began            timestamptz NOT NULL DEFAULT now(),
    owner_state      text,
    owner_lease      timestamptz
);
CREATE TABLE chaos.losses (
    instance uuid        NOT NULL,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease    timestamptz NOT NULL
);
CREATE TABLE chaos.rises (
    instance uuid NOT NULL,
    ended    text NOT NULL,
    state    text NOT NULL
);

CREATE FUNCTION chaos.step() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    o taskdeck.tasks;
    n taskdeck.tasks;
    owner record;
BEGIN
    IF TG_OP <> 'INSERT' THEN o := OLD; END IF;
    IF TG_OP <> 'DELETE' THEN n := NEW; END IF;
    SELECT i.state, i.lease_until INTO owner FROM taskdeck.instances i
    WHERE i.id = CASE WHEN o.status = 'RUNNING' THEN o.claimed_by ELSE n.claimed_by END;
    INSERT INTO chaos.steps (task_id, old_status, old_version, old_claim_no, old_attempt, old_owner, old_requested,
        old_max_attempts, new_status, new_version, new_claim_no, new_attempt, new_owner, new_requested,
        new_max_attempts, owner_state, owner_lease)
    VALUES (coalesce(n.id, o.id), o.status, o.version, o.claim_no, o.attempt, o.claimed_by, o.cancel_requested,
        o.max_attempts, n.status, n.version, n.claim_no, n.attempt, n.claimed_by, n.cancel_requested,
        n.max_attempts, owner.state, owner.lease_until);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_step AFTER INSERT OR UPDATE OR DELETE ON taskdeck.tasks
    FOR EACH ROW EXECUTE FUNCTION chaos.step();

CREATE FUNCTION chaos.loss() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.losses (instance, lease) VALUES (OLD.id, OLD.lease_until);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_loss AFTER UPDATE ON taskdeck.instances
    FOR EACH ROW WHEN (NEW.state = 'lost' AND OLD.state <> 'lost') EXECUTE FUNCTION chaos.loss();

CREATE FUNCTION chaos.rise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.rises (instance, ended, state) VALUES (OLD.id, OLD.state, NEW.state);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_rise AFTER UPDATE ON taskdeck.instances
    FOR EACH ROW WHEN (OLD.state IN ('stopped', 'lost') AND NEW.state <> OLD.state) EXECUTE FUNCTION chaos.rise();
