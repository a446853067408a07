// A crash report in, the same with names out.

import { useRef, useState } from "preact/hooks";
import { query, request } from "../api";
import { useApp, useLink } from "../app";
import { bytes, many, visibleAll, baseName } from "../format";
import { Button, CopyButton, Cut, ErrorBox, Panel, saveFile, Skeleton, Tag, useAction } from "../parts/basic";

interface Answer { text: string; kind: string; missing: { debug_id: string; name: string }[] }

export function Symbolicate() {
    const { project, server } = useApp();
    const link = useLink();
    const [text, setText] = useState("");
    const [file, setFile] = useState<File>();
    const [over, setOver] = useState(false);
    const [answer, setAnswer] = useState<Answer>();
    const input = useRef<HTMLInputElement>(null);
    const action = useAction();
    const run = (body: string | File) => action.run(async () => {
        setAnswer(undefined);
        const size = typeof body === "string" ? body.length : body.size;
        if (!size) throw new Error("Paste a report first, or drop a file.");
        const most = server?.limits.report_bytes;
        if (most && size > most) throw new Error(`It has ${bytes(size)}; this server takes ${bytes(most)}. The command has no limit: framewalk symbolicate FILE`);
        const reply = await request("POST", `/api/v1/symbolicate${query({ project })}`, body, { "Content-Type": "application/octet-stream" });
        setAnswer(visibleAll(await reply.json()));
    });
    const take = (f: File | undefined) => {
        if (!f) return;
        setFile(f);
        setText("");
        run(f);
    };
    return <>
        <div class="page-head"><h1>Symbolicate</h1></div>
        <Panel>
            <div class={`drop ${over ? "over" : ""} paste`} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
                onDrop={(e) => { e.preventDefault(); setOver(false); take(e.dataTransfer?.files[0]); }}>
                <label class="field"><span>Paste a crash report, or drop its file here (.ips, .crash, sample, MetricKit, and others; or addresses)</span>
                    <textarea rows={file ? 3 : 9} class="mono" spellcheck={false} value={text} placeholder={file ? `${file.name}, ${bytes(file.size)}` : "Incident Identifier: …"} onInput={(e) => { setText(e.currentTarget.value); setFile(undefined); }} /></label>
                <div class="tools"><Button kind="primary" disabled={action.busy} onClick={() => run(file ?? text)}>{action.busy ? "Looking names up…" : "Symbolicate"}</Button>
                    <Button onClick={() => input.current!.click()}>Choose a file…</Button>
                    <input ref={input} type="file" hidden aria-label="Report file" onChange={(e) => { take(e.currentTarget.files?.[0]); e.currentTarget.value = ""; }} />
                    <span class="muted small">It is not kept.</span></div>
            </div>
        </Panel>
        {action.error && <ErrorBox error={action.error} />}
        {action.busy && <Panel><Skeleton lines={10} /></Panel>}
        {answer && <>
            {answer.missing.length > 0 && <p class="notice"><span>{many(answer.missing.length, "image")} without a debug file: {answer.missing.slice(0, 6).map((m, i) => <span key={m.debug_id}>{i > 0 && ", "}<Cut s={baseName(m.name) || m.debug_id} class="mono" title={`${m.name}\n${m.debug_id}`} /></span>)}{answer.missing.length > 6 && " …"} <a href={link("symbols")}>Send them</a></span></p>}
            <Panel title="With names" aside={<><Tag>{answer.kind}</Tag><CopyButton text={answer.text} /><Button kind="small" onClick={() => saveFile(`${(file?.name ?? "report").replace(/\.[^.]*$/, "")}.named.${answer.kind === "ips" ? "ips" : "txt"}`, "text/plain", answer.text)}>Download</Button></>}>
                <pre class="answer" tabIndex={0} aria-label="The report with names">{answer.text}</pre></Panel>
        </>}
    </>;
}
