// The trees behind the flame graph: pure, no drawing.
//
// Invariant: the value of a node is what was measured in it and below it; no transformation changes the root's.
//
// In a tree that compares two, each of the two is a million in all, and a node's value is the sum of both: so it is as wide
// as it matters in either, and one that is in the first alone can be seen. `before` is the first's part.

import { baseName } from "../format";
import type { FlameNode } from "../types";

export interface Node {
    name: string;
    image: string;
    file: string | null;
    line: number | null;
    app: boolean;
    inlined: boolean;
    tail: boolean;
    value: number;
    self: number;
    /** What of these is of the first tree; 0 where two are not compared. */
    before: number;
    selfBefore: number;
    children: Node[];
    parent: Node | null;
    depth: number;
    /** Where it lies, as a share of the root: [start, start + value / root.value). */
    start: number;
}

/** Deeper than this nothing is drawn: what a server sends is bounded, and so is what we walk. */
const DEEPEST = 1024;

/** A place without a name is known by its image as well. */
const nameOf = (from: FlameNode) => (from.image && /^0x[0-9a-f]+$/.test(from.name) ? `${baseName(from.image)} + ${from.name}` : from.name);

function made(from: FlameNode, parent: Node | null): Node {
    return {
        name: nameOf(from), image: from.image ?? "", file: from.file ?? null, line: from.line ?? null, app: !!from.app,
        inlined: !!from.inlined, tail: !!from.tail_call, value: from.value, self: 0, before: 0, selfBefore: 0, children: [], parent, depth: parent ? parent.depth + 1 : 0, start: 0,
    };
}

const copy = (n: Node, parent: Node | null, value: number, before: number): Node =>
    ({ ...n, value, before, self: 0, selfBefore: 0, children: [], parent, depth: parent ? parent.depth + 1 : 0, start: 0 });

const sameFunction = (a: Node, b: Node) => a.name === b.name && a.image === b.image && a.inlined === b.inlined;

/** Sorts heaviest first and gives every node its place. */
function placed(root: Node): Node {
    const open = [root];
    for (let n = open.pop(); n; n = open.pop()) {
        n.children.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
        let start = n.start, sum = 0, sumBefore = 0;
        for (const child of n.children) {
            child.start = start;
            start += root.value ? child.value / root.value : 0;
            sum += child.value;
            sumBefore += child.before;
            open.push(child);
        }
        n.self = Math.max(0, n.value - sum);
        n.selfBefore = Math.min(n.self, Math.max(0, n.before - sumBefore));
    }
    return root;
}

export function treeOf(from: FlameNode): Node {
    const root = made(from, null);
    const open: [FlameNode, Node][] = [[from, root]];
    for (let next = open.pop(); next; next = open.pop()) {
        const [source, node] = next;
        if (node.depth >= DEEPEST) continue;
        for (const child of source.children ?? []) {
            const n = made(child, node);
            node.children.push(n);
            open.push([child, n]);
        }
    }
    return placed(root);
}

/** Adds `value` to the child of `into` that is the same function as `n`. */
function grown(into: Node, n: Node, value: number, before: number): Node {
    let child = into.children.find((c) => sameFunction(c, n));
    if (child) {
        child.value += value;
        child.before += before;
    } else into.children.push((child = copy(n, into, value, before)));
    return child;
}

const EACH = 1e6;

/** Two trees as one. A tree without anything in it has no part in the other. */
export function comparedOf(first: FlameNode, second: FlameNode): Node {
    const root: Node = { ...made(first, null), value: 0 };
    for (const [from, isFirst] of [[first, true], [second, false]] as const) {
        if (!from.value) continue;
        const scale = EACH / from.value;
        root.value += EACH;
        root.before += isFirst ? EACH : 0;
        const open: [FlameNode, Node][] = [[from, root]];
        for (let next = open.pop(); next; next = open.pop()) {
            const [source, into] = next;
            if (into.depth >= DEEPEST) continue;
            for (const child of source.children ?? []) {
                const value = child.value * scale;
                open.push([child, grown(into, made(child, into), value, isFirst ? value : 0)]);
            }
        }
    }
    return placed(root);
}

/** Shares of the two wholes, and their difference in percentage points. */
export interface Change { was: number; is: number; points: number }
export function changeOf(root: Node, value: number, before: number): Change {
    const after = root.value - root.before;
    const was = root.before ? before / root.before : 0, is = after ? (value - before) / after : 0;
    return { was, is, points: 100 * (is - was) };
}
/** -1 (gone) to 1 (new): how much of what there is of a node came or went; 0 where that is next to nothing of the whole. */
export function tendency(change: Change): number {
    return Math.abs(change.points) < 0.1 ? 0 : (change.is - change.was) / Math.max(change.is, change.was);
}

/** Without the frames of the system: what they took counts for whoever of the app called them. */
export function withoutSystem(tree: Node): Node {
    const root = copy(tree, null, tree.value, tree.before);
    const open: [Node, Node][] = [[tree, root]];
    for (let next = open.pop(); next; next = open.pop()) {
        const [from, into] = next;
        for (const child of from.children) open.push([child, child.app ? grown(into, child, child.value, child.before) : into]);
    }
    return placed(root);
}

/** Bottom-up: below the root the functions in which the time was spent, below each who called it. */
export function inverted(tree: Node): Node {
    const root = copy(tree, null, tree.value, tree.before);
    const open = [tree];
    for (let n = open.pop(); n; n = open.pop()) {
        open.push(...n.children);
        if (!n.parent || n.self <= 0) continue;
        let into = root;
        for (let up: Node | null = n; up && up.parent; up = up.parent) into = grown(into, up, n.self, n.selfBefore);
    }
    return placed(root);
}

export const nodesOf = (root: Node): Node[] => {
    const all: Node[] = [], open = [root];
    for (let n = open.pop(); n; n = open.pop()) {
        all.push(n);
        for (let i = n.children.length - 1; i >= 0; i--) open.push(n.children[i]);
    }
    return all;
};

/** Nodes whose name, file or image has `text`, and what they take together, nested ones counted once. */
export function matches(root: Node, text: string): { nodes: Set<Node>; value: number } {
    const nodes = new Set<Node>();
    let value = 0;
    if (!text) return { nodes, value };
    const wanted = text.toLowerCase();
    const open: [Node, boolean][] = [[root, false]];
    for (let next = open.pop(); next; next = open.pop()) {
        const [n, inside] = next;
        const hit = n.parent !== null && `${n.name}\n${n.file ?? ""}\n${n.image}`.toLowerCase().includes(wanted);
        if (hit) nodes.add(n);
        if (hit && !inside) value += n.value;
        for (const child of n.children) open.push([child, inside || hit]);
    }
    return { nodes, value };
}

export interface FunctionRow { name: string; image: string; file: string | null; line: number | null; app: boolean; self: number; total: number; selfBefore: number; totalBefore: number }

/** Every function with what it took by itself and with what it called; a recursive one counts once a stack. */
export function functionsOf(root: Node): FunctionRow[] {
    const rows = new Map<string, FunctionRow>();
    const open = new Map<string, number>(); // functions on the way down, and how often
    const walk: [Node, boolean][] = [[root, false]];
    for (let next = walk.pop(); next; next = walk.pop()) {
        const [n, leaving] = next;
        const key = `${n.image}\n${n.name}`;
        if (leaving) {
            open.set(key, open.get(key)! - 1);
            continue;
        }
        if (n.parent) {
            let row = rows.get(key);
            if (!row) rows.set(key, (row = { name: n.name, image: n.image, file: n.file, line: n.line, app: n.app, self: 0, total: 0, selfBefore: 0, totalBefore: 0 }));
            row.self += n.self;
            row.selfBefore += n.selfBefore;
            if (!open.get(key)) {
                row.total += n.value;
                row.totalBefore += n.before;
            }
            open.set(key, (open.get(key) ?? 0) + 1);
            walk.push([n, true]);
        }
        for (const child of n.children) walk.push([child, false]);
    }
    return [...rows.values()];
}

/** From the outermost to `n`, the root left out. */
export function pathTo(n: Node): Node[] {
    const path: Node[] = [];
    for (let up: Node | null = n; up && up.parent; up = up.parent) path.unshift(up);
    return path;
}
