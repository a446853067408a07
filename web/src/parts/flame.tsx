// The flame graph: outermost frames on top, width is blocked time. Drawn on a canvas, so that tens of thousands of frames
// stay fluid; what is narrower than half a pixel is left out. All of it can be done by keyboard, and the same numbers
// are in a table.
//
// Of two versions: what grew is red with a plus, what shrank is blue with a minus, in percentage points of the whole.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flame as FlameData } from "../types";
import { baseName, duration, place, share } from "../format";
import { Button, CopyButton, Cut, Search, shortened, SortHead, Tag } from "./basic";
import { changeOf, comparedOf, functionsOf, inverted, matches, nodesOf, pathTo, tendency, treeOf, withoutSystem, type Change, type Node } from "./flame_tree";

const ROW = 20;
const NARROWEST = 0.5; // pixels
const CHARACTER = 6.7; // pixels of one at 11.5 px, monospace

export interface View { text: string; invert: boolean; appOnly: boolean; table: boolean }

/** Frames by depth and place, for drawing and for finding what lies under the pointer. */
interface Box { node: Node; x: number; width: number; y: number }

function boxesOf(root: Node, zoom: Node, width: number): Box[] {
    const boxes: Box[] = [];
    const zoomShare = root.value ? zoom.value / root.value : 1;
    const inside = new Set<Node>();
    for (let up: Node | null = zoom; up; up = up.parent) inside.add(up);
    const open: Node[] = [root];
    for (let n = open.pop(); n; n = open.pop()) {
        if (inside.has(n)) {
            boxes.push({ node: n, x: 0, width, y: n.depth * ROW });
            if (n !== zoom) {
                for (const child of n.children) if (inside.has(child)) open.push(child);
                continue;
            }
        } else {
            const x = ((n.start - zoom.start) / zoomShare) * width;
            const w = (n.value / zoom.value) * width;
            if (w < NARROWEST) continue;
            boxes.push({ node: n, x, width: w, y: n.depth * ROW });
        }
        open.push(...n.children);
    }
    return boxes;
}

/** "+4.2", "−13", "new", "gone": the change of a share, in percentage points; nothing where there is next to none. */
function changeText(change: Change): string {
    const size = Math.abs(change.points);
    if (size < 0.1) return "";
    if (!change.was) return "new";
    if (!change.is) return "gone";
    return `${change.points > 0 ? "+" : "−"}${size < 10 ? size.toFixed(1) : Math.round(size)}`;
}
const changeWords = (change: Change): string => {
    const text = changeText(change);
    return !text ? "same" : text === "new" || text === "gone" ? text : `${text} points`;
};

/** Which of the colours of a comparison: 0 shrank most, 3 the same, 6 grew most. */
const step = (change: Change): number => 3 + Math.sign(tendency(change)) * Math.min(3, Math.ceil(Math.abs(tendency(change)) * 3));

function hue(text: string): number {
    let h = 7;
    for (let i = 0; i < text.length; i++) h = (h * 31 + text.charCodeAt(i)) >>> 0;
    return h;
}

function draw(canvas: HTMLCanvasElement, boxes: Box[], height: number, zoom: Node, focus: Node | null, hits: Set<Node>, searching: boolean, root: Node, comparing: boolean) {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const c = canvas.getContext("2d")!;
    const style = getComputedStyle(canvas);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const shades = [0, 1, 2, 3, 4].map((i) => color(`--flame-${i}`));
    const system = color("--flame-system"), ink = color("--flame-ink"), systemInk = color("--flame-system-ink"), hit = color("--flame-hit");
    const steps = [0, 1, 2, 3, 4, 5, 6].map((i) => color(`--change-${i}`)), stepInk = color("--change-ink");
    const hitInk = color("--flame-hit-ink"), edge = color("--panel"), mark = color("--accent");
    c.scale(scale, scale);
    c.clearRect(0, 0, width, height);
    c.font = `11.5px ${style.getPropertyValue("--mono")}`;
    c.textBaseline = "middle";
    for (const { node, x, width: w, y } of boxes) {
        const found = hits.has(node);
        const above = node.depth < zoom.depth;
        c.globalAlpha = (searching && !found) || above ? 0.45 : 1;
        const change = comparing ? changeOf(root, node.value, node.before) : null;
        c.fillStyle = found ? hit : change ? steps[node.parent ? step(change) : 3] : !node.parent ? system : node.app ? shades[hue(node.name) % shades.length] : system;
        c.fillRect(x, y, Math.max(w - 0.6, NARROWEST), ROW - 1);
        if (node.inlined && w > 6) { // inlined: a lighter line above, as it has no frame of its own
            c.fillStyle = edge;
            c.fillRect(x + 1, y + 1.5, w - 2.6, 1);
        }
        if (w > 24) {
            c.fillStyle = found ? hitInk : change ? stepInk : node.app ? ink : systemInk;
            const room = Math.floor((w - 8) / CHARACTER);
            const text = !node.parent ? (change ? "all" : `all ${duration(node.value)}`) : change && changeText(change) ? `${changeText(change)} ${node.name}` : node.name;
            c.fillText(text.length > room ? `${text.slice(0, Math.max(room - 1, 1))}…` : text, x + 4, y + ROW / 2);
        }
        c.globalAlpha = 1;
        if (node === focus) {
            c.strokeStyle = edge;
            c.lineWidth = 4;
            c.strokeRect(x + 1, y + 1, Math.max(w - 2.6, 1), ROW - 3);
            c.strokeStyle = mark;
            c.lineWidth = 2;
            c.strokeRect(x + 1, y + 1, Math.max(w - 2.6, 1), ROW - 3);
        }
    }
}

function About({ node, root, names }: { node: Node; root: Node; names?: Names }) {
    const change = changeOf(root, node.value, node.before), self = changeOf(root, node.self, node.selfBefore);
    return <>
        <span class="about-name"><Cut s={node.parent ? node.name : "all stacks"} class="fn" />
            {node.inlined && <Tag tone="inline">inlined</Tag>}{node.tail && <Tag tone="tail">tail call</Tag>}</span>
        <span class="about-rest">{names ? <><b class="num">{share(change.was, 1)} → {share(change.is, 1)}</b> <Changed change={change} /><span class="muted num"> · in itself {share(self.was, 1)} → {share(self.is, 1)}</span></>
            : <><b class="num">{duration(node.value)}</b> <span class="num">{share(node.value, root.value)}</span>
                <span class="muted"> · {duration(node.self)} in itself</span></>}
            {node.file && <span class="muted mono"> · <Cut s={place(node.file, node.line)} title={node.file} /></span>}
            {node.image && <span class="muted"> · <Cut s={baseName(node.image)} title={node.image} /></span>}</span>
    </>;
}

export interface Names { was: string; is: string }

function Changed({ change }: { change: Change }) {
    const text = changeWords(change);
    return <Tag tone={text === "same" ? "" : change.points > 0 ? "bad" : "less"}>{text}</Tag>;
}

/** What changed most first, whichever way. */
function ChangeTable({ root, names }: { root: Node; names: Names }) {
    const [sort, setSort] = useState("total");
    const [down, setDown] = useState(true);
    const rows = useMemo(() => functionsOf(root).map((r) => ({ ...r, whole: changeOf(root, r.total, r.totalBefore), alone: changeOf(root, r.self, r.selfBefore) })), [root]);
    const sorted = useMemo(() => {
        const size = (r: (typeof rows)[0]) => Math.abs(sort === "self" ? r.alone.points : r.whole.points);
        const by = (a: (typeof rows)[0], b: (typeof rows)[0]) => (sort === "name" ? (a.name < b.name ? 1 : -1) : size(b) - size(a) || b.total - a.total);
        return [...rows].sort((a, b) => (down ? by(a, b) : by(b, a))).slice(0, 500);
    }, [rows, sort, down]);
    const onSort = (id: string) => { setDown(id === sort ? !down : true); setSort(id); };
    return <div class="scroll tall" tabIndex={0} role="region" aria-label="Functions by how their share changed"><table class="list dense">
        <caption class="hidden">Functions by how their share of the blocked time changed from {shortened(names.was, 60)} to {shortened(names.is, 60)}; {rows.length} in all</caption>
        <thead><tr>
            <SortHead id="total" now={sort} down={down} onSort={onSort}>With callees</SortHead><th scope="col" class="right num wide-only">was → is</th>
            <SortHead id="self" now={sort} down={down} onSort={onSort}>In itself</SortHead><th scope="col" class="right num wide-only">was → is</th>
            <SortHead id="name" now={sort} down={!down} onSort={onSort}>Function</SortHead><th scope="col" class="wide-only">Where</th></tr></thead>
        <tbody>{sorted.map((r, i) => <tr key={i}>
            <td><Changed change={r.whole} /></td><td class="right num wide-only">{share(r.whole.was, 1)} → {share(r.whole.is, 1)}</td>
            <td><Changed change={r.alone} /></td><td class="right num wide-only">{share(r.alone.was, 1)} → {share(r.alone.is, 1)}</td>
            <td class={r.app ? "strong" : "muted"}><Cut s={r.name} class="fn" /></td>
            <td class="wide-only muted"><Cut s={r.file ? place(r.file, r.line) : baseName(r.image)} title={r.file ?? r.image} /></td></tr>)}</tbody>
    </table></div>;
}

function FlameTable({ root }: { root: Node }) {
    const [sort, setSort] = useState("self");
    const [down, setDown] = useState(true);
    const rows = useMemo(() => functionsOf(root), [root]);
    const sorted = useMemo(() => {
        const by = (a: (typeof rows)[0], b: (typeof rows)[0]) =>
            sort === "name" ? (a.name < b.name ? 1 : -1) : sort === "total" ? b.total - a.total || b.self - a.self : b.self - a.self || b.total - a.total;
        return [...rows].sort((a, b) => (down ? by(a, b) : by(b, a))).slice(0, 500);
    }, [rows, sort, down]);
    const onSort = (id: string) => { setDown(id === sort ? !down : true); setSort(id); };
    return <div class="scroll tall" tabIndex={0} role="region" aria-label="Functions by blocked time"><table class="list dense">
        <caption class="hidden">Functions of the flame graph by blocked time; {rows.length} in all</caption>
        <thead><tr>
            <SortHead id="self" now={sort} down={down} onSort={onSort} class="right">In itself</SortHead>
            <SortHead id="total" now={sort} down={down} onSort={onSort} class="right">With callees</SortHead>
            <SortHead id="name" now={sort} down={!down} onSort={onSort}>Function</SortHead><th scope="col" class="wide-only">Where</th></tr></thead>
        <tbody>{sorted.map((r, i) => <tr key={i}>
            <td class="right num">{duration(r.self)} <span class="muted">{share(r.self, root.value)}</span></td>
            <td class="right num">{duration(r.total)} <span class="muted">{share(r.total, root.value)}</span></td>
            <td class={r.app ? "strong" : "muted"}><Cut s={r.name} class="fn" /></td>
            <td class="wide-only muted"><Cut s={r.file ? place(r.file, r.line) : baseName(r.image)} title={r.file ?? r.image} /></td></tr>)}</tbody>
    </table></div>;
}

/** Of one answer; or with `from`, of how `from` became `data`, which `names` names. */
export function FlameGraph({ data, from, names, view, onView }: {
    data: FlameData; from?: FlameData; names?: Names; view: View; onView: (change: Partial<View>) => void;
}) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const whole = useMemo(() => (from ? comparedOf(from.root, data.root) : treeOf(data.root)), [data, from]);
    const root = useMemo(() => {
        const shown = view.appOnly ? withoutSystem(whole) : whole;
        return view.invert ? inverted(shown) : shown;
    }, [whole, view.appOnly, view.invert]);
    const [zoom, setZoom] = useState<Node>(root);
    const [focus, setFocus] = useState<Node | null>(null);
    const [over, setOver] = useState<Node | null>(null);
    const [width, setWidth] = useState(0);
    const [theme, setTheme] = useState(0);
    useEffect(() => { setZoom(root); setFocus(null); setOver(null); }, [root]);
    const here = zoom === root || zoom.parent ? (nodeBelongs(zoom, root) ? zoom : root) : root;
    const found = useMemo(() => matches(root, view.text), [root, view.text]);
    const boxes = useMemo(() => (width ? boxesOf(root, here, width) : []), [root, here, width]);
    const height = useMemo(() => (boxes.reduce((deepest, b) => Math.max(deepest, b.y), 0) + ROW), [boxes]);
    const all = useMemo(() => nodesOf(root).length, [root]);

    useEffect(() => {
        if (view.table) return;
        const element = canvas.current!;
        const watch = new ResizeObserver(() => setWidth(element.clientWidth));
        watch.observe(element);
        const repaint = () => setTheme((n) => n + 1);
        const dark = matchMedia("(prefers-color-scheme: dark)");
        dark.addEventListener("change", repaint);
        addEventListener("themechange", repaint);
        return () => { watch.disconnect(); dark.removeEventListener("change", repaint); removeEventListener("themechange", repaint); };
    }, [view.table]);
    useEffect(() => {
        if (!canvas.current || !width) return;
        canvas.current.style.height = `${height}px`;
        draw(canvas.current, boxes, height, here, focus, found.nodes, !!view.text, root, !!from);
    }, [boxes, height, here, focus, found, theme, width, view.table]);

    const at = (e: MouseEvent): Node | null => {
        const x = e.offsetX, y = Math.floor(e.offsetY / ROW) * ROW;
        return boxes.find((b) => b.y === y && x >= b.x && x < b.x + b.width)?.node ?? null;
    };
    const zoomTo = (n: Node) => { setZoom(n); setFocus(n); };
    const keys = (e: KeyboardEvent) => {
        const now = focus ?? here;
        const siblings = now.parent?.children ?? [now];
        const index = siblings.indexOf(now);
        const to: Record<string, Node | null | undefined> = {
            ArrowDown: now.children[0], ArrowUp: now.parent, ArrowRight: siblings[index + 1], ArrowLeft: siblings[index - 1], Home: root,
        };
        if (e.key in to) {
            const next = to[e.key];
            if (next) {
                setFocus(next);
                if (!nodeBelongs(next, here)) setZoom(next.parent ?? root);
                canvas.current!.parentElement!.scrollTop = Math.max(0, next.depth * ROW - 120);
            }
        } else if (e.key === "Enter" || e.key === " ") zoomTo(now);
        else if (e.key === "Escape" && here !== root) zoomTo(root);
        else return;
        e.preventDefault();
    };
    const about = over ?? focus ?? here;
    const path = pathTo(here);
    return <div class="flame">
        <div class="tools">
            <Search label="Search in the flame graph" placeholder="Function, file or image" value={view.text} onValue={(text) => onView({ text })} />
            <span class="matched num" aria-live="polite">{view.text && (found.nodes.size ? `${share(found.value, root.value)} in ${found.nodes.size} frames` : "nothing found")}</span>
            <span class="spring" />
            <label class="check"><input type="checkbox" checked={view.invert} onChange={(e) => onView({ invert: e.currentTarget.checked })} />Invert</label>
            <label class="check"><input type="checkbox" checked={view.appOnly} onChange={(e) => onView({ appOnly: e.currentTarget.checked })} />Hide system frames</label>
            <label class="check"><input type="checkbox" checked={view.table} onChange={(e) => onView({ table: e.currentTarget.checked })} />As table</label>
        </div>
        {view.table ? names ? <ChangeTable root={root} names={names} /> : <FlameTable root={root} /> : <>
            <div class="about" aria-live="polite"><About node={about} root={root} names={names} /></div>
            <div class="scroll tall plain">
                <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="flame graph"
                    aria-label={`Flame graph of ${names ? `how ${shortened(names.was, 60)} became ${shortened(names.is, 60)},` : `${duration(root.value)} in`} ${all} frames, outermost on top. Arrow keys walk, Enter zooms, Escape zooms out; “As table” has the same numbers.`}
                    onKeyDown={keys} onMouseMove={(e) => setOver(at(e))} onMouseLeave={() => setOver(null)}
                    onClick={(e) => { const n = at(e); if (n) zoomTo(n === here && n.parent ? n.parent : n); }} />
            </div>
            <div class="tools below">
                {here !== root && <nav aria-label="Zoomed into" class="crumbs">
                    <button type="button" class="link" onClick={() => zoomTo(root)}>all</button>
                    {path.slice(-4).map((n) => <button key={n.depth} type="button" class="link cut" onClick={() => zoomTo(n)}>{shortened(n.name)}</button>)}
                    <Button kind="small" onClick={() => zoomTo(root)}>Zoom out</Button>
                </nav>}
                {here === root && names && <span class="muted small"><i class="key grew" /> + larger share <i class="key shrank" /> − smaller share <i class="key same" /> the same, in percentage points · click a frame to zoom</span>}
                {here === root && !names && <span class="muted small"><i class="key app" /> of the app <i class="key system" /> of the system <i class="key inline" /> inlined · click a frame to zoom</span>}
                <span class="spring" />
                <CopyButton label="Copy path" text={() => Promise.resolve(pathTo(focus ?? here).reverse().map((n) => `${n.name}  ${place(n.file, n.line)}`).join("\n") + "\n")} />
            </div>
        </>}
        {(data.truncated || from?.truncated) && <p class="muted pad small">The narrowest frames were left out by the server; all numbers of what is shown are whole.</p>}
    </div>;
}

function nodeBelongs(n: Node, ancestor: Node): boolean {
    for (let up: Node | null = n; up; up = up.parent) if (up === ancestor) return true;
    return false;
}
