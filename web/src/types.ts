// What the server's API says (docs/openapi.yaml). Times: milliseconds since 1970; durations: nanoseconds.

export interface List<T> { items: T[]; next: string | null; total?: number }
export interface Session { label: string; scopes: string[]; csrf: string; expires_ms: number | null }
export interface Project { slug: string; name: string; created_ms: number }
export interface Job { kind: string; subject: string; state: "queued" | "running" | "failed"; done: number; total: number; message: string }
export interface Server {
    version: string; database: string; store: string; waiting_reports: number; failed_reports: number; jobs: Job[];
    limits: { report_bytes: number; upload_bytes: number; part_bytes: number };
    damaged?: number;
    clock?: { believed: boolean; message: string; now_ms: number };
}

export interface Group {
    id: string; title: string; leaf: string; section: "app" | "system" | "unnamed"; image: string | null; file: string | null; line: number | null;
    status: "open" | "ignored" | "resolved" | "merged"; reports: number; blocked_ns: number; longest_ns: number; killed: number;
    installs: number; first_ms: number | null; last_ms: number | null; first_version: string | null; last_version: string | null; since_ms: number; reopened: boolean;
    trend: number[]; note: string | null; merged_into: string | null; resolved_version: string | null; resolved_after: boolean;
}
export interface GroupName { id: string; title: string }
export interface Share { name: string; reports: number; blocked_ns: number }
export interface VersionShare { version: string; reports: number; blocked_ns: number }
export interface Day { day: string; version?: string | null; reports: number; blocked_ns: number; killed: number }
export interface Version {
    version: string; build: string; released_ms: number; prerelease: boolean; line: string; reports: number; blocked_ns: number; killed: number;
    sessions: number | null; observed_ns: number | null; rate: number | null;
}
export interface Overview {
    versions: Version[]; versions_in_all: number; days: Day[];
    classes: { below_500ms: number; below_2s: number; below_8s: number; above: number; killed: number };
    top: Group[]; new: Group[]; waiting: { reports: number; images: number };
    platforms: { os: Share[]; devices: Share[] };
}
export interface Frame {
    function: string | null; file: string | null; line: number | null; image: string | null; offset: string; kind: "exact" | "return";
    inlined: boolean; tail_call: boolean; app: boolean; status: "named" | "no_map" | "unknown" | "gap"; omitted?: number;
    /** The image whose sources may be asked for (symbols/source); not there: none. */
    sources?: string;
}
export interface SourceLines { file: string; line: number; pre_context: string[]; context_line: string; post_context: string[] }
export interface WhyFrame { frame: number; function: string | null; role: string; rule: string; in_key: boolean }
export interface GroupDetail extends Group {
    why: { rules: number; parts: string[]; frames: WhyFrame[] };
    heaviest: Frame[]; versions: VersionShare[]; os: Share[]; devices: Share[]; days: Day[];
    histogram: { below_ns: number | null; reports: number }[]; similar: GroupName[];
    coverage: { stacks: number; of: number; blocked_share: number }; since_version: string | null; history: GroupEvent[];
}
/** What became of a hang; who "": the server itself. */
export interface GroupEvent { at_ms: number; who: string; action: string; detail: string }
export interface VersionRow {
    version: string; build: string; label: string; line: string; numbered: boolean; prerelease: boolean; prerelease_set: boolean | null;
    released_ms: number; released_set: boolean; first_ms: number;
}
export interface Limit { kind: string; made: number; most: number; near: boolean }
export interface VersionRows { items: VersionRow[]; total: number; truncated: boolean }
export interface FlameNode {
    name: string; value: number; children?: FlameNode[]; image?: string | null; file?: string | null; line?: number | null;
    app?: boolean; inlined?: boolean; tail_call?: boolean;
}
export interface GroupStack { id: number; reports: number; blocked_ns: number; last_ms: number; by_hand: boolean; frames: Frame[] }
export interface GroupStacks extends List<GroupStack> { total: number; blocked_ns: number }
export interface Flame { unit: string; root: FlameNode; truncated: boolean; coverage?: { stacks: number; of: number; blocked_share: number } }
export interface ReportLine {
    id: string; received_ms: number; started_ms: number; version: string; os: string; device: string;
    duration_ns: number; ending: string; complete: boolean; group?: { id: string; title: string } | null;
}
export interface Thread {
    name: string | null; id: number | string; main: boolean; watched: boolean; state: string | null; end: string | null; unavailable: string | null;
    frames: Frame[]; same_as?: number;
}
export interface Sample { at_ns: number; weight_ns: number; count: number; stack: number }
export interface Report {
    id: string; kind: string; project: string; received_ms: number; started_ms: number; process_age_ms: number; version: string;
    build: string; os: string; device: string; arch: string; executable: string; app: string; ending: string; veto: string | null;
    duration_ns: number; complete: boolean; body?: boolean; truncated?: boolean; note: string | null; group: { id: string; title: string } | null;
    threads: Thread[]; samples: Sample[]; stacks: Frame[][]; calls: { api?: string; count?: number; frames?: Frame[] }[];
    scripts: { at_ns: number; frames: { function: string; file: string; line: number }[] }[];
    keys: { key: string; value: string }[];
    images: { name: string | null; debug_id: string; has_map: boolean; path: string | null; arch: string | null }[];
}
export interface CallRow {
    api: string; caller: { function: string | null; image: string | null; file: string | null; line: number | null }; count: number;
    first_version: string | null; first_day: string; last_day: string; allowed: boolean; rule: string | null;
    before?: number; after?: number;
}
export interface CallCell { api: string; image: string | null; count: number; callers: number; not_allowed: number }
/** Of what Apple requires a reason for or guards with a permission: groups of the answer's functions. */
export interface Privacy { version: number; date: string; groups: PrivacyGroup[] }
export interface PrivacyGroup { name: string; title: string; category: string | null; reasons: string[]; permissions: string[]; apis: { api: string; by_key: boolean }[] }
export interface Calls { apis: string[]; cells: CallCell[]; privacy: Privacy; callers: number; not_allowed: number; rows: CallRow[]; total: number; truncated: boolean }
export interface CallsDiff {
    from: string | null; from_named: boolean; from_prerelease: boolean; from_calls: number; to: string; to_calls: number;
    new: CallRow[]; gone: CallRow[]; changed: CallRow[]; not_allowed: CallRow[]; unnamed: CallRow[];
    totals: { new: number; gone: number; changed: number; not_allowed: number; unnamed: number }; privacy: Privacy; truncated: boolean;
    waiting_reports: number; failed_reports: number; passes: boolean;
}
export interface CallVersions { items: { version: string; count: number }[]; total: number; truncated: boolean }
export interface CallStack { count: number; version: string; frames: Frame[] }
export interface AllowRule { id: string; api: string; caller: string; note: string }
export interface MissingImage { debug_id: string; name: string | null; arch: string; path: string | null; reports: number; frames: number; last_day: string; app: boolean }
export interface SymbolFile {
    id: string; debug_id: string; arch: string; kind: string; name: string; size: number; state: "stored" | "mapped" | "unusable";
    message: string | null; features: string[]; uploaded_ms: number; uploaded_by: string; used_ms: number | null;
}
export interface Upload {
    id: string; name: string; size: number; received: number; state: "sending" | "queued" | "converting" | "done" | "failed";
    message: string | null; done: number; total: number;
    files: { debug_id: string; arch: string; kind: string; name: string; state: string; message: string | null }[];
}
export interface Token { id: string; kind: "token" | "key"; label: string; scopes: string[]; project: string | null; created_ms?: number; expires_ms: number | null; used_ms?: number | null; secret?: string }
export interface AuditLine { at_ms: number; label: string; action: string; subject: string; detail: string }
export interface Rules { version: number; text: string; builtin: string; history: { version: number; created_ms: number; created_by: string }[] }
export interface Preview {
    groups_now: number; groups_then: number; split: { group: string; into: number }[]; merged: { title: string; groups: number }[];
    moved_reports: number; examined_reports: number; examined_stacks: number; stacks: number; moves: Move[]; moves_of: number; examples: Example[];
}
export interface Move { from: GroupName; to: GroupName | null; then: string; stacks: number; reports: number; blocked_ns: number }
export interface Why { parts: string[]; frames: WhyFrame[] }
export interface Example { from: GroupName; to: GroupName | null; then: string; reports: number; blocked_ns: number; why_now: Why | null; why_then: Why | null }
export interface Retention {
    bodies: number; body_bytes: number; reports: number; day_sums: number; sessions: number; calls: number; stacks: number; flame: number;
    unreadable: number; seen: number; audit_log: number; symbols: number; symbol_bytes: number; disk_used: number;
}
export interface Settings { body_days: number; row_days: number; symbols_days: number; disk_share: number }
