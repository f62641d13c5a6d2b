"""An index: its documents and what can be asked."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from os import PathLike
from pathlib import Path
from typing import Any, Literal, cast

from .._errors import JobError, RagdError
from .._upload import Content, Source, UploadProgress, UploadResult, continued, files_below, given, refused, seconds
from ..api import (
    AsyncDocumentService,
    AsyncEvaluateService,
    AsyncIndexService,
    AsyncQueryService,
    Boost,
    Chunk,
    Chunking,
    CountChunksResponse,
    CreateIndexRequest,
    DatabaseConfig,
    DeleteDocumentsResponse,
    Document,
    Facet,
    GraphOptions,
    GraphRagResponse,
    GroupBy,
    Hybrid,
    Index,
    Job,
    Like,
    OrderBy,
    ReadDocumentResponse,
    RecordFeedbackResponse,
    Reranker,
    SuggestResponse,
    Topic,
    UploadDocumentRequest,
    UploadDocumentsRequest,
    VectorQueryResponse,
)
from .transport import AsyncTransport

Mode = Literal["vector", "keyword", "hybrid"]
Expand = Literal["section", "neighbours", "document"]

#: How often the stream of a job is opened again when it breaks off.
_WATCHES = 10


class AsyncRagdIndex:
    """An index of the tenant. Getting one makes no call; the index need not exist yet."""

    def __init__(self, name: str, transport: AsyncTransport) -> None:
        self.name = name
        self._transport = transport
        self._documents = AsyncDocumentService(transport)
        self._indexes = AsyncIndexService(transport)
        self._queries = AsyncQueryService(transport)
        self._evaluate = AsyncEvaluateService(transport)

    async def create(self, **settings: Any) -> Index:
        """Creates the index; nothing happens if it exists with the same settings.

        settings are those of CreateIndexRequest, such as embeddingModel="openai/text-embedding-3-small".
        """
        return await self._indexes.create_index(cast(CreateIndexRequest, {**settings, "indexName": self.name}))

    async def describe(self) -> Index:
        """Returns settings, counts and state."""
        return await self._indexes.describe_index({"indexName": self.name})

    async def truncate(self) -> None:
        """Deletes all documents and keeps the settings."""
        await self._indexes.truncate_index({"indexName": self.name})

    async def drop(self) -> None:
        """Deletes the index with its documents."""
        await self._indexes.delete_index({"indexName": self.name})

    async def upload(
        self,
        source: Source | str,
        *,
        uri: str | None = None,
        title: str | None = None,
        content_type: str | None = None,
        metadata: dict[str, Any] | None = None,
        namespace: str | None = None,
        chunking: Chunking | None = None,
        extract: dict[str, Any] | None = None,
        fingerprint: str | None = None,
        wait: bool = True,
        on_progress: Callable[[UploadProgress], None] | None = None,
    ) -> UploadResult:
        """Uploads a document and waits until it can be found.

        source is a pathlib.Path, bytes, an open binary file, or a text as str. uri names the document: an
        upload with the uri of an earlier one replaces it; default: the name of the file. With wait=False
        the answer comes when the document is durable. Errors: RagdError; JobError when it cannot be read.
        """
        if uri is None:
            name = source if isinstance(source, PathLike) else getattr(source, "name", None)
            uri = Path(name).name if isinstance(name, (str, PathLike)) else None
        content = Content(source)
        request = cast(
            UploadDocumentRequest,
            given(
                indexName=self.name,
                uri=uri,
                title=title,
                contentType=content_type,
                metadata=metadata,
                namespace=namespace,
                chunking=chunking,
                extract=extract,
                fingerprint=fingerprint,
            ),
        )

        def report(phase: Literal["sending", "processing", "done"], sent: int, job: Job | None = None) -> None:
            if on_progress:
                progress = (job or {}).get("progress") or {}
                on_progress(UploadProgress(phase, uri or "", sent, content.size, progress.get("done", 0), progress.get("total", 0)))

        report("sending", 0)
        if content.fits:
            content.put(request)
            answer = await self._documents.upload_document(request)
            document, job, sent = answer["document"], answer["job"], content.size or 0
        else:
            document, job, sent = await self._send(request, content, lambda bytes_: report("sending", bytes_))
        if wait:
            report("processing", sent, job)
            job = await self.wait(job, lambda changed: report("processing", sent, changed))
            document = await self.document(document_id=document["documentId"])
        report("done", sent, job)
        return UploadResult(document, job)

    async def _send(self, request: UploadDocumentRequest, content: Content, sent: Callable[[int], None]) -> tuple[Document, Job, int]:
        """Sends a large document in pieces."""
        total = 0

        async def parts() -> AsyncIterator[UploadDocumentsRequest]:
            nonlocal total
            yield {"document": request}
            for piece in content.pieces():
                yield continued(piece)
                total += len(piece)
                sent(total)

        answer = await self._documents.upload_documents(parts())
        result = answer["results"][0]
        if result.get("error"):
            raise refused(result["error"])
        return await self.document(document_id=result["documentId"]), result["job"], total

    async def upload_folder(
        self,
        folder: PathLike[str] | str,
        *,
        prefix: str = "",
        metadata: dict[str, Any] | None = None,
        namespace: str | None = None,
        chunking: Chunking | None = None,
        wait: bool = True,
        on_progress: Callable[[UploadProgress], None] | None = None,
    ) -> list[UploadResult | RagdError]:
        """Uploads the files below a folder, under their paths in it after the prefix, and returns a result or
        an error for each, in the order of the paths. Files and folders whose names begin with a dot are left
        out. An error of one file does not keep the others from being uploaded.
        """
        uploads = self.iter_upload_folder(
            folder,
            prefix=prefix,
            metadata=metadata,
            namespace=namespace,
            chunking=chunking,
            wait=wait,
            on_progress=on_progress,
        )
        return [upload async for upload in uploads]

    async def iter_upload_folder(
        self,
        folder: PathLike[str] | str,
        *,
        prefix: str = "",
        metadata: dict[str, Any] | None = None,
        namespace: str | None = None,
        chunking: Chunking | None = None,
        wait: bool = True,
        on_progress: Callable[[UploadProgress], None] | None = None,
    ) -> AsyncIterator[UploadResult | RagdError]:
        """Does what upload_folder does, and yields each result as soon as it is known. The upload begins when
        the first is read.
        """
        uploads: list[UploadResult | RagdError] = []
        for uri, path in files_below(Path(folder)):
            try:
                uploads.append(
                    await self.upload(
                        path,
                        uri=prefix + uri,
                        metadata=metadata,
                        namespace=namespace,
                        chunking=chunking,
                        wait=False,
                        on_progress=on_progress,
                    )
                )
            except RagdError as error:
                uploads.append(error)
        for upload in uploads:
            if not wait or isinstance(upload, RagdError):
                yield upload
                continue
            try:
                job = await self.wait(upload.job)
                yield UploadResult(await self.document(document_id=upload.document["documentId"]), job)
            except RagdError as error:
                yield error

    async def wait(self, job: Job, on_change: Callable[[Job], None] | None = None) -> Job:
        """Waits until a job has ended, and returns it. Errors: JobError if it failed or was cancelled."""
        for watch in range(_WATCHES):
            try:
                async for changed in self._documents.watch_job({"jobId": job["jobId"]}):
                    job = changed
                    if on_change:
                        on_change(job)
                break
            except RagdError as error:
                if error.code != "unavailable" or watch == _WATCHES - 1:
                    raise
        if job["status"] != "succeeded":
            raise JobError(job["error"] or f"the job is {job['status']}", "failed_precondition", job=job)
        return job

    async def query(
        self,
        text: str = "",
        *,
        top_k: int | None = None,
        filter: dict[str, Any] | None = None,
        mode: Mode | None = None,
        namespace: str | None = None,
        vector: list[float] | None = None,
        like: Like | None = None,
        reranker: Reranker | None = None,
        min_score: float | None = None,
        min_similarity: float | None = None,
        recall_target: float | None = None,
        highlight: bool | None = None,
        neighbours: int | None = None,
        diversity: float | None = None,
        max_per_document: int | None = None,
        boost: Boost | None = None,
        boosts: list[Boost] | None = None,
        profile: str | None = None,
        order_by: list[OrderBy] | None = None,
        group_by: GroupBy | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
        prefix: bool | None = None,
        syntax: Literal["web"] | None = None,
        hybrid: Hybrid | None = None,
        database_config: DatabaseConfig | None = None,
        include_vectors: bool | None = None,
        include_sources: bool | None = None,
        distinct: bool | None = None,
        expand: Expand | None = None,
        explain: bool | None = None,
        max_staleness: float | None = None,
        write_token: str | None = None,
        max_tokens: int | None = None,
        encoding_name: str | None = None,
        timeout: float | None = None,
        context: dict[str, Any] | None = None,
    ) -> VectorQueryResponse:
        """Returns the chunks that match a question best. max_staleness is in seconds. See VectorQueryRequest of ragd.api."""
        request = given(
            indexName=self.name,
            queryText=text,
            queryVector=vector,
            like=like,
            topK=top_k,
            filter=filter,
            searchMode=mode,
            namespace=namespace,
            reranker=reranker,
            minScore=min_score,
            minSimilarity=min_similarity,
            recallTarget=recall_target,
            highlight=highlight,
            neighbours=neighbours,
            diversity=diversity,
            maxPerDocument=max_per_document,
            boost=boost,
            boosts=boosts,
            profile=profile,
            orderBy=order_by,
            groupBy=group_by,
            pageSize=page_size,
            pageToken=page_token,
            prefix=prefix,
            querySyntax=syntax,
            hybrid=hybrid,
            databaseConfig=database_config,
            includeVectors=include_vectors,
            includeSources=include_sources,
            distinct=distinct,
            expand=expand,
            explain=explain,
            maxStaleness=seconds(max_staleness),
            writeToken=write_token,
            maxTokens=max_tokens,
            encodingName=encoding_name,
        )
        return await self._queries.vector_query(request, timeout=timeout, context=context)  # type: ignore[arg-type]

    async def suggest(
        self,
        prefix: str,
        *,
        limit: int | None = None,
        namespace: str | None = None,
        timeout: float | None = None,
        context: dict[str, Any] | None = None,
    ) -> SuggestResponse:
        """Completes what is being typed into a search. See SuggestRequest of ragd.api."""
        request = given(indexName=self.name, prefix=prefix, limit=limit, namespace=namespace)
        return await self._queries.suggest(request, timeout=timeout, context=context)  # type: ignore[arg-type]

    async def count(
        self,
        text: str | None = None,
        *,
        filter: dict[str, Any] | None = None,
        facets: list[Facet] | None = None,
        namespace: str | None = None,
        nearest: int | None = None,
        vector: list[float] | None = None,
        mode: Mode | None = None,
        max_staleness: float | None = None,
        write_token: str | None = None,
        timeout: float | None = None,
        context: dict[str, Any] | None = None,
    ) -> CountChunksResponse:
        """Counts chunks and documents exactly, by the values of fields too. max_staleness is in seconds. See CountChunksRequest of ragd.api."""
        request = given(
            indexName=self.name,
            queryText=text,
            filter=filter,
            facets=facets,
            namespace=namespace,
            nearest=nearest,
            queryVector=vector,
            searchMode=mode,
            maxStaleness=seconds(max_staleness),
            writeToken=write_token,
        )
        return await self._queries.count_chunks(request, timeout=timeout, context=context)  # type: ignore[arg-type]

    async def feedback(self, query_id: str, source: str, helpful: bool | None, *, timeout: float | None = None) -> RecordFeedbackResponse:
        """Says whether a source of an answer helped; None takes back what was said. See RecordFeedbackRequest of ragd.api."""
        request = given(queryId=query_id, source=source, helpful=helpful, withdraw=True if helpful is None else None)
        return await self._evaluate.record_feedback(request, timeout=timeout)  # type: ignore[arg-type]

    async def graph(
        self,
        text: str = "",
        *,
        top_k: int | None = None,
        filter: dict[str, Any] | None = None,
        mode: Mode | None = None,
        namespace: str | None = None,
        vector: list[float] | None = None,
        reranker: Reranker | None = None,
        min_score: float | None = None,
        min_similarity: float | None = None,
        recall_target: float | None = None,
        highlight: bool | None = None,
        boost: Boost | None = None,
        boosts: list[Boost] | None = None,
        profile: str | None = None,
        walk: GraphOptions | None = None,
        scope: Literal["local", "global"] | None = None,
        include_vectors: bool | None = None,
        include_sources: bool | None = None,
        distinct: bool | None = None,
        expand: Expand | None = None,
        explain: bool | None = None,
        explain_nodes: int | None = None,
        max_staleness: float | None = None,
        write_token: str | None = None,
        max_tokens: int | None = None,
        encoding_name: str | None = None,
        timeout: float | None = None,
        context: dict[str, Any] | None = None,
    ) -> GraphRagResponse:
        """Returns what a walk through the index's graph reaches from a question. See GraphRagRequest of ragd.api."""
        request = given(
            indexName=self.name,
            queryText=text,
            queryVector=vector,
            topK=top_k,
            filter=filter,
            searchMode=mode,
            namespace=namespace,
            reranker=reranker,
            minScore=min_score,
            minSimilarity=min_similarity,
            recallTarget=recall_target,
            highlight=highlight,
            boost=boost,
            boosts=boosts,
            profile=profile,
            graphOptions=walk,
            scope=scope,
            includeVectors=include_vectors,
            includeSources=include_sources,
            distinct=distinct,
            expand=expand,
            explain=explain,
            explainNodes=explain_nodes,
            maxStaleness=seconds(max_staleness),
            writeToken=write_token,
            maxTokens=max_tokens,
            encodingName=encoding_name,
        )
        return await self._queries.graph_rag(request, timeout=timeout, context=context)  # type: ignore[arg-type]

    async def documents(
        self,
        *,
        filter: dict[str, Any] | None = None,
        namespace: str | None = None,
        status: str | None = None,
        search: str | None = None,
        order_by: str | None = None,
    ) -> AsyncIterator[Document]:
        """Yields the documents of the index. See ListDocumentsRequest of ragd.api."""
        request = given(indexName=self.name, filter=filter, namespace=namespace, status=status, search=search, orderBy=order_by, pageSize=1000)
        while True:
            page = await self._documents.list_documents(request)  # type: ignore[arg-type]
            for document in page["documents"]:
                yield document
            if not page["nextPageToken"]:
                return
            request["pageToken"] = page["nextPageToken"]

    async def document(self, *, document_id: str | None = None, uri: str | None = None, namespace: str | None = None) -> Document:
        """Returns a document by its id or uri."""
        return await self._documents.get_document(given(indexName=self.name, documentId=document_id, uri=uri, namespace=namespace))  # type: ignore[arg-type]

    async def read(
        self,
        *,
        document_id: str | None = None,
        uri: str | None = None,
        namespace: str | None = None,
        start_byte: int | None = None,
        end_byte: int | None = None,
        max_tokens: int | None = None,
        encoding_name: str | None = None,
    ) -> ReadDocumentResponse:
        """Returns the text that was read from a document, or a range of it, or what of that has max_tokens at most."""
        request = given(
            indexName=self.name,
            documentId=document_id,
            uri=uri,
            namespace=namespace,
            startByte=start_byte,
            endByte=end_byte,
            maxTokens=max_tokens,
            encodingName=encoding_name,
        )
        return await self._documents.read_document(request)  # type: ignore[arg-type]

    async def download(self, *, document_id: str | None = None, uri: str | None = None, namespace: str | None = None) -> AsyncIterator[bytes]:
        """Yields a document as it was uploaded, in pieces."""
        request = given(indexName=self.name, documentId=document_id, uri=uri, namespace=namespace)
        async for message in self._documents.download_document(request):  # type: ignore[arg-type]
            if message.get("content"):
                yield b64decode(message["content"])

    async def chunks(self, document_id: str) -> AsyncIterator[Chunk]:
        """Yields the chunks of a document in reading order."""
        token = ""
        while True:
            page = await self._documents.list_chunks({"indexName": self.name, "documentId": document_id, "pageSize": 1000, "pageToken": token})
            for chunk in page["chunks"]:
                yield chunk
            token = page["nextPageToken"]
            if not token:
                return

    async def delete(
        self,
        *,
        document_ids: list[str] | None = None,
        uris: list[str] | None = None,
        filter: dict[str, Any] | None = None,
        namespace: str | None = None,
        dry_run: bool | None = None,
    ) -> DeleteDocumentsResponse:
        """Deletes documents that are named or that match a filter, with their chunks."""
        request = given(indexName=self.name, documentIds=document_ids, uris=uris, filter=filter, namespace=namespace, dryRun=dry_run)
        return await self._documents.delete_documents(request)  # type: ignore[arg-type]

    async def topics(self) -> AsyncIterator[Topic]:
        """Yields what the documents are about, largest first, each followed by its subtopics."""
        token = ""
        while True:
            page = await self._queries.list_topics({"indexName": self.name, "pageSize": 1000, "pageToken": token})
            for topic in page["topics"]:
                yield topic
            token = page["nextPageToken"]
            if not token:
                return
