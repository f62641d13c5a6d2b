"""Messages and services of ragd's API. Messages are dictionaries with the names of the API's JSON."""

# Generated from proto/ragd/v1 by make generate. Do not edit.

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, TypedDict, cast

from .._transport import AsyncTransport, Transport


class VectorQueryRequest(TypedDict, total=False):
    """The message VectorQueryRequest."""
    # The question. Required unless queryVector or orderBy is given; keyword and hybrid search and a
    # reranker always need it.
    queryText: str
    # A ready-made embedding of the index's dimension.
    queryVector: list[float]
    # Default: all indexes that the credential may see, as with indexNames ["*"]; another method needs it if there are several.
    indexName: str
    # Several indexes, instead of indexName: their names, or patterns in which * stands for any characters, 32 indexes at most. Each
    # is searched by itself, within 10 s, and the sources of all are in one order by score; one that does not answer is named in
    # warnings. The scores of hybrid and keyword search can be compared between indexes. See docs/explanation/retrieval.md#several-indexes.
    indexNames: list[str]
    # Weights of indexes, 1 for those that are not named: a score above 0 is multiplied with the weight of its index divided by
    # the largest. For several indexes only.
    indexWeights: list[IndexWeight]
    # Selects the block of databaseConfig: ragd or pgvector (default), pinecone or chroma, in
    # any case. A name of the tenant's own (Tenant.settings, or vectorStoreName in the settings of
    # a tool) selects the only block that is given, else that of pgvector. It has no other effect.
    vectorStoreName: str
    # Number of sources to return, 1 to 1000; default 10.
    topK: int
    # A filter over the chunks' metadata, see docs/reference/filters.md.
    filter: Any
    # vector, keyword or hybrid. Default: hybrid if queryText is given and the index has an
    # embedding model, else vector.
    searchMode: str
    # Returns embeddings, which are large. Default: false.
    includeVectors: bool
    # Default true.
    includeSources: bool
    # Adds timings and the plan of the search.
    explain: bool
    # Options as other vector stores name them.
    databaseConfig: DatabaseConfig
    # Chunks of the same document to add before and after each source, 0 to 10. Sources
    # whose ranges then touch are merged, so there may be fewer than topK.
    neighbours: int
    # From 0 (default: relevance alone) to 1 (sources as different from each other as
    # possible), by maximal marginal relevance.
    diversity: float
    # How hybrid mode combines vector and keyword search.
    hybrid: Hybrid
    # The namespace to search. Default: "default", which holds documents and vectors stored
    # without one.
    namespace: str
    # Most sources from one document. 0 (default): no limit.
    maxPerDocument: int
    # Second-stage scoring of the results; needs queryText. Default: none.
    reranker: Reranker
    # Adds to the sources their passage that matches queryText best, and which of their
    # words match it. Of the texts, up to 1 MiB are examined, those of the best sources.
    highlight: bool
    # Returns only sources that score more than this in the search, before reranking. Takes
    # the place of databaseConfig.pgvector.minScore. See Source.score.
    minScore: float
    # Returns only sources whose similarity is greater than this, in every mode. In keyword
    # mode the question is then embedded, too.
    minSimilarity: float
    # How stale the answer may be, up to 300s: it may then come from a replica of the database, if
    # the service has any that is so fresh. 0s: it comes from the primary. Default: as the operator
    # has set (database-max-staleness).
    maxStaleness: str
    # A write token, as the header Ragd-Write-Token of an answer gave it: this answer contains the
    # writes before that one. Several, up to 32, have commas between. Takes the place of the header
    # Ragd-Write-Token of this request.
    writeToken: str
    # Most tokens of the answer, 512 to 1000000. Default: no limit. The best sources come first, and the
    # last is cut at the end of a sentence if it does not fit; see docs/reference/budget.md. What is
    # counted is relevantContext.
    maxTokens: int
    # The encoding that counts them: cl100k_base (default), o200k_base, p50k_base, p50k_edit, r50k_base or
    # gpt2.
    encodingName: str
    # Whether near-identical passages are one source, the best of them, which names the others in alsoIn;
    # topK then counts distinct passages. See docs/explanation/retrieval.md. Default: true.
    distinct: bool
    # Whether the last word of queryText may be the beginning of a word, as in a search while it is typed: keyword
    # and hybrid search then also find the most common words that begin with it. Default: false.
    prefix: bool
    # How much of its document a source shows. section: its section, if that is short (4 KiB) or has several
    # of the chunks that were found; neighbours: the chunks before and after it, one of each unless
    # neighbours says more; document: the document. At most 16 KiB are shown, around the chunk, and with
    # maxTokens at most about half of them. Chunks that are then one text are one source, which names them
    # in hits, so there may be fewer than topK. Default: the chunk.
    expand: str
    # Ranks chunks higher by a time, such as recent ones, by a number or by a condition. Default: none.
    boost: Boost
    # The recall target of an approximate search, 0.9 to 0.999: the fraction of the nearest chunks that it finds. The least search
    # width that was measured to hold it with 95 % confidence is used; a warning says if there is none. Not beside
    # databaseConfig.pgvector.ef and probes. Default: recallTarget of the index.
    recallTarget: float
    # More like this: finds what is like examples, instead of queryVector and of the embedding of queryText. With queryText, hybrid
    # search finds also what has its words.
    like: Like
    # How queryText is read. Empty (default): as words, with phrases in quotes. web: as people type into the box of a search engine,
    # where chunks must have "a phrase", title:word in their title, a word that begins with prefix* and one of a OR b, and must not have -word;
    # see docs/explanation/retrieval.md#what-people-type.
    querySyntax: str
    # Puts the sources in the order of metadata fields instead of their scores, at most 5. Without queryText and queryVector all
    # chunks that filter selects are put in order, with searchMode keyword all that match, and topK are the first of them; their score is 0.
    # Else the topK best are put in order. Not beside reranker, boost, diversity, expand, neighbours and groupBy.
    orderBy: list[OrderBy]
    # Makes groups of the sources by a metadata field; topK is the number of groups then. For one index. Not beside diversity.
    groupBy: GroupBy
    # Returns the sources in pages of so many, 1 to 1000, instead of topK; all pages have 10,000 at most. Not beside reranker, boost, diversity,
    # expand, neighbours, groupBy, maxTokens and includeVectors; beside orderBy only without a question, and with searchMode keyword.
    pageSize: int
    # nextPageToken of the page before. The rest of the request must be the same.
    pageToken: str
    # Several boosts, instead of boost: at most 8, whose factors are multiplied.
    boosts: list[Boost]
    # The ranking profile of the index, as name or, for an earlier version, name@version; none: no profile. What this request says itself
    # goes before what the profile says. Default: the default profile of the index, if it has one. See docs/how-to/ranking-profiles.md.
    profile: str
    # Adds to the sources from PDF files where they stand on their pages: metadata.position.boxes, a list like that of
    # highlight.boxes, which is set too with highlight. Of the first 50 sources, from at most 64 MiB of files; a warning says if there
    # are more. A page that was read by character recognition has none. See docs/how-to/show-the-place.md.
    includeBoxes: bool
    # Weighs the terms of the question by field, of the best 200 candidates (5 times topK, if that is more). In keyword and hybrid mode;
    # not beside hybrid.fusion rrf, pageSize and like.combine best. Default: 1 each.
    fieldWeights: FieldWeights


class Like(TypedDict, total=False):
    """Like asks for chunks that are like examples. The chunks and documents that are examples are not returned. What the caller may not
    see, by the credential or a filter of the request context, is no example. See docs/explanation/retrieval.md#more-like-this.
    """
    # 1 to 10. Of several indexes: texts.
    positive: list[Example]
    # What sources are to be unlike, at most 10.
    negative: list[Example]
    # average (default): one search, for the mean of the positive examples, and as far again from that of the negative ones. best: a
    # search for each positive example; a source has its best score, and what is more like a negative one is left out.
    combine: str
    # Chunks and documents that are not returned, at most 100, without text.
    exclude: list[Example]


class Example(TypedDict, total=False):
    """Example is one of its fields."""
    # Id of a chunk or of a ready-made vector, as in Source.
    id: str
    # A document, whose embedding is the mean of its chunks, of the first 512.
    documentId: str
    # A document by its uri, in the namespace of the query.
    uri: str
    # A text, which is embedded as a question, up to 32 KiB.
    text: str


class OrderBy(TypedDict, total=False):
    """OrderBy sorts by a metadata field: numbers by size, then times by instant, then other texts by their bytes, then false and true. Lists,
    objects and chunks without the field come last.
    """
    # Required. The field, as in filters.
    field: str
    # The greatest first; what comes last stays last.
    descending: bool
    # A point such as {"lat": 52.52, "lon": 13.4}: the field has points, and those nearest to this one come first. What is no point comes last.
    origin: Any


class GroupBy(TypedDict, total=False):
    """GroupBy makes groups by the value of a metadata field, of a list by the first. Chunks without such a value are a group."""
    # Required. The field, as in filters.
    field: str
    # Most sources of a group; topK times size is at most 1000. Default: 3.
    size: int


class SourceGroup(TypedDict, total=False):
    """SourceGroup is a group of sources."""
    # A text, number or boolean; absent for chunks without such a value.
    value: Any
    # All chunks of the group that match. Only with searchMode keyword: for others, each chunk matches more or less.
    chunkCount: int


class IndexWeight(TypedDict, total=False):
    """IndexWeight is how much the scores of one of several indexes weigh."""
    indexName: str
    # Above 0, to 1000.
    weight: float


class BatchQueryRequest(TypedDict, total=False):
    """The message BatchQueryRequest."""
    # 1 to 100.
    queries: list[VectorQueryRequest]


class BatchQueryResponse(TypedDict, total=False):
    """The message BatchQueryResponse."""
    # In the order of the queries.
    answers: list[BatchAnswer]


class BatchAnswer(TypedDict, total=False):
    """BatchAnswer has either an answer or an error."""
    answer: VectorQueryResponse
    error: QueryError


class QueryError(TypedDict, total=False):
    """QueryError says why one query of several failed, with the code and message that the query alone would have had."""
    # The Connect code: invalid_argument, not_found, ...
    code: str
    # What is wrong and what to do.
    message: str
    # The invalid field of the query, if the error is about one.
    field: str
    # Seconds to wait before asking again; 0 if that does not help.
    retryDelaySeconds: float


class Boost(TypedDict, total=False):
    """Boost ranks chunks higher by a field or by a condition: a score above 0 is multiplied with 1 - weight + weight * decay, where
    decay is 1 for the best chunks and falls to 0. {field: published, halfLife: 30d} prefers recent chunks. See
    docs/explanation/retrieval.md#boosts.
    """
    # The metadata field, as in filters, such as published: with times, strings in the form of ISO 8601 (see
    # docs/reference/filters.md#times), with numbers, or with points {lat, lon}. A chunk without such a value has the decay 0. Required unless filter is given.
    field: str
    # Required for times. The age, or with origin the distance in time, at which half of the weight is left: a number with a unit
    # (s, m, h, d, w or y), such as 30d; at most 1000y.
    halfLife: str
    # How much of the score depends on the boost: above 0, to 1. Default 0.5.
    weight: float
    # exponential (default): 2^-d, where d is the distance in half distances; gauss: 2^-(d*d), which falls slowly at first and then
    # fast; linear: 1 - d/2, which is 0 from twice the half distance on.
    decay: str
    # From what distances are measured: a time, also one such as now+7d, or a number or a point {lat, lon}, which
    # is required for numbers and points. Default: now, and what is to come counts as new.
    origin: Any
    # Required for numbers and points. The distance from origin at which half of the weight is left, for points in meters.
    halfDistance: float
    # Up to this distance nothing is lost, and what is beyond is measured from there: a text such as 7d for times, else a number. Default: 0.
    offset: Any
    # A condition, with weight alone beside it: decay is 1 for chunks that this filter selects, and 0 for others. Not over $uri.
    filter: Any
    # Goes by the feedback on passages of the document (EvaluateService.RecordFeedback), with weight and halfLife alone beside it: decay
    # is votes / (votes + 5), where each question of a caller votes for a document of which more passages helped than did not, or
    # against it, and half as much after each halfLife (default 90d). So a score is multiplied with 1 - weight at least, and 1 at most. Counted
    # anew after a minute, for the 1,000 most popular documents. With a mandatory filter, feedback of credentials with the same one counts.
    popularity: bool


class FieldWeights(TypedDict, total=False):
    """FieldWeights say how much a term of the question counts in keyword search by the field of a chunk that has it: as if the field had it
    so many times as often. Each from 0 to 10, not all 0; default 1. See docs/explanation/retrieval.md#field-weights.
    """
    # The title of the document.
    title: float
    # The headings above the chunk.
    headings: float
    # The text of the chunk.
    text: float


class Recency(TypedDict, total=False):
    """Recency reports what boosts did to a score."""
    # Before the boost.
    score: float
    # With which it was multiplied, if it is above 0.
    factor: float
    # By which the first boost by a time went. Absent for a chunk without one.
    time: str
    # What each boost multiplied with, in their order. Absent for one boost.
    factors: list[float]


class AppliedProfile(TypedDict, total=False):
    """AppliedProfile is the ranking profile by which an index was searched."""
    indexName: str
    profileName: str
    version: int


class Hybrid(TypedDict, total=False):
    """Hybrid sets how the scores of vector and keyword search are combined."""
    # weighted (default): the weighted mean of both scores as log-odds, and more for a chunk that has almost all that
    # the question says; rrf: reciprocal rank fusion, which uses ranks only, so that scores of different questions are not comparable.
    fusion: str
    # Only the ratio of the weights matters. Default: the rarer the terms of the question are, the more
    # keywords weigh; rrf: equal. For the builtin model, whose embeddings say less than shared terms, the
    # vector score only breaks ties.
    vectorWeight: float
    keywordWeight: float
    # Added to the log-odds of the weight of the embeddings, -6 to 6: 2 turns a weight of 0.5 into 0.88, and
    # -2 into 0.12. Excludes vectorWeight and keywordWeight. Scores keep their meaning. Default: that of
    # the tuning of the index (see EvaluateService.TuneIndex) where weights are not given either and fusion is weighted, else 0.
    vectorLogOdds: float


class DatabaseConfig(TypedDict, total=False):
    """DatabaseConfig has a block for each store. Only the block that vectorStoreName selects
    applies; a warning names the others.
    """
    pgvector: PgVectorConfig
    pinecone: PineconeConfig
    chroma: ChromaConfig


class PgVectorConfig(TypedDict, total=False):
    """The message PgVectorConfig."""
    # As minScore of the request.
    minScore: float
    # Search width of an HNSW index, 1 to 1000. Default: the least that holds recallTarget, by measurement.
    ef: int
    # Number of lists that an IVFFlat search reads. Default: as for ef.
    probes: int


class PineconeConfig(TypedDict, total=False):
    """The message PineconeConfig."""
    namespace: str
    # As sparseVector of VectorService.Query, in vector mode, which is then the default.
    sparseVector: SparseVector


class SparseVector(TypedDict, total=False):
    """SparseVector has values at indices, which count from 0, and is 0 elsewhere."""
    indices: list[int]
    values: list[float]


class ChromaConfig(TypedDict, total=False):
    """The message ChromaConfig."""
    # A filter over metadata.
    where: Any
    # A condition on the text: $contains, $not_contains, $regex, $not_regex, $and,
    # $or.
    whereDocument: Any


class VectorQueryResponse(TypedDict, total=False):
    """The message VectorQueryResponse."""
    # The texts of the sources, numbered, ready for a prompt.
    relevantContext: str
    # Best first; ties in the order of their ids.
    sources: list[Source]
    # Notices that do not prevent an answer, in English.
    warnings: list[str]
    explain: Explain
    # Set with maxTokens.
    budget: Budget
    # Names this answer to RecordFeedback, for 30 days, also that of several indexes. Empty without queryText, without sources by
    # includeSources, or if the question makes it longer than 8 KiB.
    queryId: str
    # With groupBy, in the order of their best sources. The sources are group by group.
    groups: list[SourceGroup]
    # All groups of the chunks that match, counted as SourceGroup.chunkCount.
    groupCount: int
    # With pageSize: for the next page. Empty if there is none.
    nextPageToken: str
    # The question with the words of the index that were searched for in place of misspelt ones, which no chunk has; see
    # explain.corrections. Empty without any, and for several indexes.
    didYouMean: str


class GraphRagRequest(TypedDict, total=False):
    """The message GraphRagRequest."""
    # The question. Required unless queryVector is given.
    queryText: str
    # A ready-made embedding of the index's dimension.
    queryVector: list[float]
    # Default: all indexes that the credential may see, as with indexNames ["*"].
    indexName: str
    # Several indexes, instead of indexName, as in VectorQuery: the graph of each is walked within 10 s, and again from chunks that the best passages
    # of the others name. For each the scores of the walk are scaled so that its best source has the score with which the search found the best seed, or
    # half of that of a passage that names one; hybrid and keyword scores of seeds can be compared between indexes. Not with scope global. See docs/explanation/graph.md#several-indexes.
    indexNames: list[str]
    # As in VectorQuery.
    indexWeights: list[IndexWeight]
    # Accepted for compatibility, as in VectorQuery.
    vectorStoreName: str
    # Number of sources to return, 1 to 1000; default 10.
    topK: int
    # A filter over the chunks' metadata, see docs/reference/filters.md. A walk never passes through
    # a chunk that does not match it.
    filter: Any
    # The search mode that finds the seeds, as in VectorQuery.
    searchMode: str
    # Default false.
    includeVectors: bool
    # Default true.
    includeSources: bool
    # Adds timings, the path to each source, and the nodes and edges of the walk.
    explain: bool
    graphOptions: GraphOptions
    # Second-stage scoring of the results of walk and search; needs queryText. Default:
    # none.
    reranker: Reranker
    # The namespace to search; a walk does not leave it. Default: "default".
    namespace: str
    # As in VectorQuery.
    highlight: bool
    # local (default): walks from the question's seeds. global: for broad questions, such as
    # "what is this about?": chooses topics, then the best chunks of each in turn. Topics are
    # those of the chunks that a search finds, or the largest for a question without
    # specific terms. Errors: those of ListTopics; INVALID_ARGUMENT together with
    # graphOptions or without queryText.
    scope: str
    # A walk starts only at chunks that score more than this in the search; without one the
    # response is empty. It does not limit the scores of the walk.
    minScore: float
    # Returns only sources whose similarity is greater than this.
    minSimilarity: float
    # With explain: most nodes that are returned, 1 to 2000; default 100.
    explainNodes: int
    # As in VectorQuery.
    maxStaleness: str
    # As in VectorQuery.
    writeToken: str
    # As in VectorQuery.
    maxTokens: int
    # As in VectorQuery.
    encodingName: str
    # As in VectorQuery.
    distinct: bool
    # As in VectorQuery; neighbours is one chunk before and one after.
    expand: str
    # As in VectorQuery, for the search that finds the seeds.
    recallTarget: float
    # As in VectorQuery, for the scores of the walk: ranks recent sources higher. Not with scope global.
    boost: Boost
    # As in VectorQuery, for the scores of the walk.
    boosts: list[Boost]
    # As in VectorQuery. Of a profile its boosts, reranker and thresholds apply.
    profile: str
    # As in VectorQuery.
    includeBoxes: bool


class GraphOptions(TypedDict, total=False):
    """GraphOptions sets how the graph is walked."""
    # If given, must equal the index's.
    dimension: int
    # Least cosine similarity of similar edges, -1 to 1; default 0.7. The stored graph has
    # no pairs below 0.5.
    threshold: float
    # Length of a walk in chunks, 1 to 10000. Default: unlimited, or 100 over the candidate
    # graph.
    randomWalkSteps: int
    # Probability of returning to the seeds at each step, above 0 and below 1. Default:
    # 0.5, or 0.15 over the candidate graph.
    restartProb: float
    # 0: walks the stored graph. n, at most 1000: walks the candidate graph of the n chunks
    # nearest to the question, whose edges join chunks more similar than threshold; the
    # topK nearest are the seeds.
    candidates: int
    # mention, next, similar. Default: all. Ignored over the candidate graph.
    edgeTypes: list[str]


class GraphRagResponse(TypedDict, total=False):
    """The message GraphRagResponse."""
    # The texts of the sources, numbered, ready for a prompt.
    relevantContext: str
    # Best first. The score is the probability that the walk is at the chunk, 0 for a chunk
    # that only the search found, by the factor of boost. Over the candidate graph it is the sum over the seeds of
    # their similarity times that probability. Of several indexes: see indexNames. With scope global: by topic, the best topic
    # first, and best first within a topic.
    sources: list[Source]
    # Notices that do not prevent an answer, in English.
    warnings: list[str]
    explain: GraphExplain
    # Set with maxTokens.
    budget: Budget
    # As in VectorQuery.
    queryId: str


class Source(TypedDict, total=False):
    """Source is one retrieved chunk."""
    # Id of the chunk or vector.
    id: str
    # Metadata of the chunk, with its text as "text".
    metadata: dict[str, Any]
    # Empty unless includeVectors.
    vector: list[float]
    # Higher is better. Vector mode: the similarity. Keyword mode: the keywordScore. Hybrid
    # mode: both combined, in [0,1] and independent of the other sources (except with rrf), so
    # that a threshold suits different questions. With a reranker: its score.
    score: float
    # The chunk's text.
    document: str
    documentId: str
    uri: str
    title: str
    # Number of the chunk in its document, from 0.
    ordinal: int
    # Byte range of the chunk in the document's text, end exclusive; for formats that are
    # converted to text first, in that text.
    startByte: int
    endByte: int
    # Set by GraphRag with explain: how the walk reached the chunk, in English.
    path: str
    # Components of a reranked score. Absent without a reranker and when no result could be
    # scored, which a warning then reports.
    details: RerankDetails
    # Set with highlight.
    highlight: Highlight
    # Set by GraphRag with scope global: the title of the chunk's topic.
    topic: str
    # 1 - cosine distance, 1/(1 + euclidean distance), the inner product, the fraction of
    # equal bits (hamming) or 1 - jaccard distance of the embeddings of chunk and question.
    # Absent in keyword mode without a queryVector or minSimilarity, and for a vector of
    # zeros.
    similarity: float
    # How well the terms match, in [0,1]: BM25 relative to the most that the question could
    # reach, calibrated by the statistics of the index. Absent in vector mode, and if no term
    # matches.
    keywordScore: float
    # Set with expand and neighbours: the part of document that is the chunk itself.
    chunk: ByteRange
    # Other places of the same passage, as far as the search found them: up to 20, best first.
    alsoIn: list[Place]
    # How many there are.
    alsoInCount: int
    # Set with expand and neighbours: the chunks of document that were found, best first, this one too.
    hits: list[Hit]
    # Set with boosts.
    recency: Recency
    # The index, if several were asked.
    indexName: str
    # With groupBy: the number of the group in groups, from 0.
    group: int
    # Whether a curation of the index puts the source before those that score more.
    pinned: bool
    # Set with fieldWeights, if a term matches: what they multiplied the BM25 score with, of which keywordScore is made.
    keywordFactor: float


class Hit(TypedDict, total=False):
    """Hit is a chunk that was found, as a part of a source."""
    # Id of the chunk.
    id: str
    # Number of the chunk in its document, from 0.
    ordinal: int
    score: float
    # As in Source.
    startByte: int
    endByte: int
    # The part of document that is the chunk.
    range: ByteRange


class Place(TypedDict, total=False):
    """Place is where a passage stands that is near-identical with a source."""
    # Id of the chunk.
    id: str
    documentId: str
    uri: str
    title: str
    # Number of the chunk in its document, from 0.
    ordinal: int
    # As in Source.
    startByte: int
    endByte: int
    # The index, if several were asked.
    indexName: str


class Budget(TypedDict, total=False):
    """Budget tells what an answer with maxTokens takes, and what was left out of it."""
    maxTokens: int
    # Tokens of relevantContext or, for a document, of its text.
    usedTokens: int
    encodingName: str
    # Id of the source that was cut at the end of a sentence; empty if none was.
    cutId: str
    # Sources that were left out.
    omittedCount: int
    # Tokens of the sources that were left out, and of what was cut off, estimated by their bytes.
    omittedTokens: int
    # The best 20 of the sources that were left out.
    omitted: list[OmittedSource]


class OmittedSource(TypedDict, total=False):
    """OmittedSource is a source that did not fit into the budget."""
    id: str
    documentId: str
    uri: str
    title: str
    score: float
    # That it would have taken, estimated by its bytes.
    tokens: int
    # The index, if several were asked.
    indexName: str


class Highlight(TypedDict, total=False):
    """Highlight tells where a source matches the question."""
    # The sentences or lines that match best, at most 480 bytes. Without a match, the
    # beginning.
    passage: ByteRange
    # The words of the source that match, in order, as the index's textLanguage compares
    # words: with stemming.
    matches: list[ByteRange]
    # Set with includeBoxes: where the passage stands on the pages of a PDF file.
    boxes: list[PageBoxes]


class PageBoxes(TypedDict, total=False):
    """PageBoxes is where a text stands on one page."""
    # Number of the page in the file, from 1.
    page: int
    # Size of the page as it is shown, in points (1/72 inch).
    width: float
    height: float
    # The corner from which boxes are measured: top-left, always.
    origin: str
    # One for each line or cell of the text.
    boxes: list[Box]


class Box(TypedDict, total=False):
    """Box is a rectangle on a page as it is shown: turned as the file says, and cut to its crop box. In points from the origin;
    right and bottom are greater than left and top.
    """
    left: float
    top: float
    right: float
    bottom: float


class ByteRange(TypedDict, total=False):
    """ByteRange is a range of bytes of a source's document, end exclusive."""
    startByte: int
    endByte: int


class Explain(TypedDict, total=False):
    """Explain reports how the results were found."""
    searchMode: str
    # In the order of execution.
    stages: list[Stage]
    # exact: the query was compared with every chunk that the filter selects. approximate:
    # the Postgres index was used. Empty in keyword mode.
    plan: str
    # Estimated number of chunks examined, from statistics. 0 if there are none, and for a
    # credential with a mandatory filter, because statistics count hidden chunks.
    candidates: int
    # Whether the response has topK sources or all that match.
    complete: bool
    # Whether no better sources exist, that is, no approximation was used. With a reranker:
    # among the candidates.
    exact: bool
    # Cost of reranking; absent without a reranker.
    reranking: Reranking
    # The search width of an approximate plan: hnsw.ef_search or ivfflat.probes. 0 for other
    # plans.
    searchWidth: int
    # The effective request context in the order of names.
    context: list[ContextValue]
    # The version of the statistics that scores rest on. Scores of the same chunks change only with it; a
    # copy of a tenant has the same. "default" for an index of fewer than 200 chunks without a tuning; empty in vector mode,
    # whose scores are similarities.
    calibration: str
    # Passages that are not sources because they repeat one.
    repeatedCount: int
    # Words of the question that no chunk has, for which similar words were searched.
    corrections: list[Correction]
    # The recall target that chose search_width. 0 for other plans, and with databaseConfig.pgvector.ef or probes.
    recallTarget: float
    # The fraction of the nearest chunks that searches found with search_width, or with the next smaller width that was measured, when
    # the index was measured. 0 for other plans, and before.
    measuredRecall: float
    # What conditions of the filter leave out that may be expected: lists that have a value which a field is to equal, and
    # entries without a field that a negated condition names. At most 20.
    filterNotes: list[str]
    # How much the embeddings weigh in a hybrid search, from 0 to 1; keywords have the rest. Absent in other modes, and
    # if several indexes were asked.
    vectorWeight: float
    # What was added to the log-odds of that weight.
    vectorLogOdds: float
    # What querySyntax web has made of queryText: what chunks must have, or not have, in English.
    conditions: list[str]
    # The ranking profiles that were applied, one for each index that has one.
    profiles: list[AppliedProfile]
    # Terms of the question that the index has synonyms of, which were searched for too.
    synonyms: list[SynonymUse]
    # The ids of the curations of the index that hold for the question; for a credential with a mandatory filter, of those that pin a source.
    curationIds: list[str]


class SynonymUse(TypedDict, total=False):
    """SynonymUse is a term of a question and its synonyms, of which the caller may see a chunk."""
    # As the entry has it.
    term: str
    # The synonyms that were searched for. They count less than words of the question.
    searched: list[str]


class Correction(TypedDict, total=False):
    """Correction is a word of a question that no chunk has."""
    # As the question has it, in lower case.
    word: str
    # The words that were searched for in its place, likeliest first. They count less than words of the question.
    searched: list[str]


class ContextValue(TypedDict, total=False):
    """ContextValue is an effective value of the request context."""
    # Name of a known key, such as topK, or of a declared one.
    name: str
    # Absent for a secret.
    value: Any
    # Whether the key is declared as secret.
    secret: bool
    # Where the value comes from: "header Ragd-Context"; "call" for _meta of MCP and the context
    # of CallTool; "server"; "header X", "claim X", "attribute X", "constant" or "default" for a
    # declared key.
    origin: str


class GraphExplain(TypedDict, total=False):
    """GraphExplain reports how the results were found and which part of the graph was walked."""
    # The search mode that found the seeds.
    searchMode: str
    # In the order of execution.
    stages: list[Stage]
    # Chunks reached by the walk, best first; at most explainNodes. Of several indexes: those of each index after those of the one before.
    nodes: list[GraphNode]
    # Edges between these chunks: at most 20,000, first those of paths, then those that a
    # step takes most often.
    edges: list[GraphEdge]
    # Cost of reranking; absent without a reranker.
    reranking: Reranking
    # With scope global: the chosen topics, best first.
    topics: list[ChosenTopic]
    # The effective request context in the order of names.
    context: list[ContextValue]
    # Passages that are not sources because they repeat one.
    repeatedCount: int
    # As in Explain.
    filterNotes: list[str]
    # As in Explain.
    profiles: list[AppliedProfile]


class ChosenTopic(TypedDict, total=False):
    """ChosenTopic is a topic of which an answer has chunks."""
    topicId: int
    title: str
    # Why it was chosen, in English.
    reason: str
    # Number of sources from it.
    sources: int


class GraphNode(TypedDict, total=False):
    """GraphNode is a chunk reached by the walk."""
    documentId: str
    ordinal: int
    title: str
    # Probability that the walk is at this chunk.
    score: float
    # Weight as a seed; 0 if it is none.
    seed: float
    # Whether it is among the sources.
    source: bool
    # How the walk reached the chunk most often, in English, as in Source.
    path: str
    # Index into edges of the last edge of this path. Absent for a chunk where a walk starts,
    # and if the chunk before it is not among the nodes.
    reachedBy: int
    # The topic of the chunk, as ListTopics numbers them. 0 if it is in none, before topics are
    # found, and for a credential or request context with a filter.
    topicId: int
    uri: str
    # Byte range of the chunk in the document's text, as in Source.
    startByte: int
    endByte: int
    # The index, if several were asked.
    indexName: str


GraphEdge = TypedDict(
    "GraphEdge",
    {
        # Indices into nodes.
        "from": "int",
        # Index into nodes.
        "to": "int",
        # mention, next or similar.
        "type": "str",
        # Probability that a step from one end takes this edge.
        "share": "float",
        # The edge's label, such as: names "LD-101".
        "words": "str",
    },
    total=False,
)


class ListEdgesRequest(TypedDict, total=False):
    """The message ListEdgesRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Required.
    documentId: str
    # Of the chunk in its document, from 0.
    ordinal: int
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListEdgesResponse(TypedDict, total=False):
    """The message ListEdgesResponse."""
    # At most 2,000 that lead away and 2,000 that lead to the chunk: those of the rarest names.
    edges: list[ChunkEdge]
    # Empty on the last page.
    nextPageToken: str


class ChunkEdge(TypedDict, total=False):
    """ChunkEdge is an edge between the chunk of a ListEdgesRequest and another."""
    # mention, next or similar.
    type: str
    # Which way a walk follows it: out (from the chunk), in (to the chunk) or both.
    direction: str
    # The edge's label, such as: names "LD-101".
    words: str
    # A step takes an edge with a probability in proportion to its weight. Without a unit.
    weight: float
    # The other chunk, without a score.
    chunk: Source


class Stage(TypedDict, total=False):
    """Stage is one step of a query, with its duration."""
    # embed, words (loads how common the question's terms are), plan, search, search all (a
    # second search, because the first found too few), rerank, neighbours, expand, highlight. Of a graph
    # query: seeds, load, walk, rerank, assemble.
    name: str
    durationMs: float
    # Number of chunks that the stage returned.
    candidates: int


class Reranker(TypedDict, total=False):
    """Reranker configures second-stage scoring."""
    # endpoint/model, such as openai/gpt-5-mini or cohere/rerank-v3.5. Empty or
    # builtin/lexical: no provider.
    model: str
    weights: RerankerWeights
    # Number of results to return. Default: 3 in Rerank, the query's topK in a query.
    topK: int
    # Number of candidates that a query fetches; default five times topK.
    candidates: int
    # lexical, cross-encoder, llm, llm-passage or llm-listwise. Default: chosen by the
    # model's provider.
    kind: str
    # Divides the weights by their sum. Without it, weights that do not add up to 1 are an
    # error.
    normalizeWeights: bool
    # Returns an error instead of a warning when no result could be scored.
    required: bool
    # Another form of weights and topK, where those are not given.
    options: RerankerOptions


class RerankerOptions(TypedDict, total=False):
    """RerankerOptions are the options of a reranker in the form that other clients send."""
    weights: RerankerWeights
    topK: int


class Reranking(TypedDict, total=False):
    """Reranking reports the work and cost of second-stage scoring."""
    kind: str
    model: str
    # Results to score; of these, failed could not be scored, and cached had their score in
    # the cache.
    candidates: int
    failed: int
    cached: int
    # Calls of the model's provider, and their tokens.
    calls: int
    inputTokens: int
    outputTokens: int
    durationMs: float


class RerankerWeights(TypedDict, total=False):
    """RerankerWeights holds the weights of the components of a score; together 1."""
    # Weight of the reranker's score; default 0.4.
    semantic: float
    # Weight of the result's original score; default 0.4.
    vector: float
    # Weight of the result's original rank; default 0.2.
    position: float


class RerankRequest(TypedDict, total=False):
    """The message RerankRequest."""
    # The question. Required.
    queryText: str
    # At most 1000, best first, each with a document or metadata.text.
    results: list[Source]
    # Default: lexical.
    reranker: Reranker


class RerankResponse(TypedDict, total=False):
    """The message RerankResponse."""
    # Best first; ties in the order of the request.
    results: list[RerankedSource]
    # Notices that do not prevent an answer, in English.
    warnings: list[str]
    reranking: Reranking


class RerankedSource(TypedDict, total=False):
    """RerankedSource is a result with its new score."""
    result: Source
    # The weighted sum of details, 0 to 1.
    score: float
    details: RerankDetails


class RerankDetails(TypedDict, total=False):
    """RerankDetails holds the components of a score, each before its weight."""
    # Score of the reranker, 0 to 1.
    semantic: float
    # Score of the first stage, mapped to 0 to 1.
    vector: float
    # From 1 for the first candidate down to 1/n for the last.
    position: float
    # Whether semantic is an estimate, because this result could not be scored.
    estimated: bool


class CountChunksRequest(TypedDict, total=False):
    """The message CountChunksRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # The namespace to count in. Default: "default".
    namespace: str
    # Counts only what this filter selects, see docs/reference/filters.md.
    filter: Any
    # Counts only chunks that keyword search matches: those with a word of the text, or with all that it quotes. With nearest:
    # the question of the search.
    queryText: str
    # Counts only the first chunks that VectorQuery finds, 1 to 1000, for queryText or queryVector. Default: all that match.
    nearest: int
    # With nearest: a ready-made embedding of the index's dimension.
    queryVector: list[float]
    # With nearest: vector, keyword or hybrid, as in VectorQuery.
    searchMode: str
    # The fields whose values are counted, at most 20.
    facets: list[Facet]
    # As in VectorQuery.
    maxStaleness: str
    # As in VectorQuery.
    writeToken: str


class Facet(TypedDict, total=False):
    """Facet asks how many chunks have each value of a metadata field."""
    # Required. The field, as in filters: maker.name is a field of an object, "dc\\\\.title" a key with a dot.
    field: str
    # The most frequent values to return, 0 to 1000. Default: 10, or 0 with ranges, rangeCount or interval.
    limit: int
    # Ranges to count, of numbers or of times, at most 100. They may overlap.
    ranges: list[FacetRange]
    # Instead of ranges: makes up to so many of equal width, 1 to 100, between the least and the greatest number, with round bounds.
    rangeCount: int
    # Counts times by minute, hour, day, week (from Monday), month, quarter or year of the calendar; at most 1000, those without chunks
    # between the first and the last included.
    interval: str
    # With interval: the time zone of the calendar, such as Europe/Paris or +02:00. Default: UTC.
    timeZone: str
    # Counts as if the filter had no conditions on this field, as a page needs that offers its other values: entries of filter on this
    # field alone, at its top or in $and there. The filters of the credential and of the request context hold in any case.
    withoutOwnFilter: bool


FacetRange = TypedDict(
    "FacetRange",
    {
        "from": "Any",
        "to": "Any",
    },
    total=False,
)


class CountChunksResponse(TypedDict, total=False):
    """The message CountChunksResponse."""
    chunkCount: int
    # The different documents of the chunks. Ready-made vectors are of none.
    documentCount: int
    # In the order of the request.
    facets: list[FacetCounts]
    # Notices that do not prevent an answer, in English.
    warnings: list[str]


class FacetCounts(TypedDict, total=False):
    """FacetCounts counts the chunks by a field. Each chunk counts once for each value that it has, also in a list with
    repetitions; the number 10 and the text "10" are two values.
    """
    field: str
    # Chunks that are counted: chunkCount of the response, or more with withoutOwnFilter.
    chunkCount: int
    # Of these, chunks without the field, or with null.
    missingCount: int
    # Different values. Objects, lists in lists and values of more than 2000 bytes are none.
    valueCount: int
    # The most frequent; ties by value.
    values: list[ValueCount]
    # With ranges, rangeCount or interval: in their order.
    ranges: list[RangeCount]


class ValueCount(TypedDict, total=False):
    """The message ValueCount."""
    # A text, number or boolean.
    value: Any
    chunkCount: int


RangeCount = TypedDict(
    "RangeCount",
    {
        # Numbers, or times in the form of ISO 8601; absent for a side that is open.
        "from": "Any",
        # Not part of the range, but for the last of rangeCount.
        "to": "Any",
        "chunkCount": "int",
    },
    total=False,
)


class ListTopicsRequest(TypedDict, total=False):
    """The message ListTopicsRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # 1 to 1000; default 100.
    pageSize: int
    pageToken: str


class ListTopicsResponse(TypedDict, total=False):
    """The message ListTopicsResponse."""
    # Largest first, each followed by its subtopics.
    topics: list[Topic]
    # Empty on the last page.
    nextPageToken: str
    # When the topics were found.
    findTime: str
    # A job of kind topics that is finding them again; empty if there is none.
    jobId: str
    # Number of chunks in no topic: in communities too small for one, or new.
    otherChunkCount: int
    # Modularity of the communities, below 1: how much more of the weight of edges is within
    # communities than it would be at random. Above 0.3 there is structure.
    modularity: float


class Topic(TypedDict, total=False):
    """Topic is a community of chunks, or a part of one."""
    # Stays the same while most chunks do.
    topicId: int
    # The topic of a subtopic; 0 for other topics.
    parentId: int
    # By a language model if the index has graph.topicModel, else the best terms.
    title: str
    # By the language model; else empty.
    summary: str
    # Terms that tell the topic apart from the rest of the index, a subtopic from the rest of
    # its topic; best first, at most 10.
    terms: list[str]
    # The most central chunks by PageRank within the topic, at most 5.
    chunks: list[TopicChunk]
    # The documents with most chunks in the topic, at most 5.
    documents: list[TopicDocument]
    chunkCount: int
    documentCount: int
    # Share of the index's chunks, 0 to 1.
    share: float
    namespace: str


class TopicChunk(TypedDict, total=False):
    """TopicChunk is a chunk that stands for a topic."""
    documentId: str
    ordinal: int
    uri: str
    title: str
    # The beginning of the chunk's text, at most 300 characters.
    text: str


class TopicDocument(TypedDict, total=False):
    """TopicDocument is a document with chunks in a topic."""
    documentId: str
    uri: str
    title: str
    # Number of its chunks in the topic.
    chunkCount: int


class SuggestRequest(TypedDict, total=False):
    """The message SuggestRequest."""
    # Required. What has been typed, up to 200 bytes. Words are suggested for the last one, from 2 letters on, that stand in a chunk with those before.
    prefix: str
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Default: "default".
    namespace: str
    # Most suggestions, 1 to 20; default 10.
    limit: int


class SuggestResponse(TypedDict, total=False):
    """The message SuggestResponse."""
    # Titles, then questions, then words.
    suggestions: list[Suggestion]


class Suggestion(TypedDict, total=False):
    """Suggestion completes what was typed."""
    # The whole text, to be put in the place of what was typed.
    text: str
    # title, question or word.
    kind: str
    # Of a title: a document that has it.
    documentId: str
    # The uri of that document.
    uri: str


class EmbedRequest(TypedDict, total=False):
    """The message EmbedRequest."""
    # Default: the service's default model.
    model: str
    # At most 2048 texts.
    texts: list[str]
    # Values of each embedding. 0: the model's. Errors: INVALID_ARGUMENT for a model that cannot make
    # shorter ones.
    dimension: int


class EmbedResponse(TypedDict, total=False):
    """The message EmbedResponse."""
    embeddings: list[Embedding]
    model: str
    dimension: int


class Embedding(TypedDict, total=False):
    """The message Embedding."""
    # As many as dimension.
    values: list[float]


class ListTablesRequest(TypedDict, total=False):
    """The message ListTablesRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Default: all namespaces.
    namespace: str
    # Only tables of documents whose metadata match, see docs/reference/filters.md.
    filter: Any
    # Only tables of this document.
    documentId: str
    # Only tables with this in their name, that of a column, or the uri or title of their document, in any case; up to 256 bytes.
    search: str
    # 1 to 1000; default 100.
    pageSize: int
    pageToken: str


class ListTablesResponse(TypedDict, total=False):
    """The message ListTablesResponse."""
    # In the order of the ids of their documents.
    tables: list[Table]
    nextPageToken: str


class Table(TypedDict, total=False):
    """Table is a table in a document."""
    # Names the table in plans. It stays the same while the document keeps its tables in order.
    tableId: str
    # By which plans and SQL name the table too: letters, digits and _. Tables of several documents may share it.
    name: str
    documentId: str
    namespace: str
    uri: str
    # Of the document.
    title: str
    # Of the sheet in a spreadsheet; empty for others.
    sheet: str
    # Where the rows are, such as "B2:D9" in a sheet, "lines 2-9" of a text file, or "rows 1-8" of a table in a text.
    range: str
    # Of a table in a text: where it is in the text of the document, as ReadDocument has it. Otherwise 0.
    startByte: int
    endByte: int
    rowCount: int
    columns: list[TableColumn]
    # What should be known of results, such as a row of totals that is not counted among the rows.
    notes: list[str]
    # Why the rows are not kept; empty if they are. Such a table cannot be queried.
    leftOut: str


class TableColumn(TypedDict, total=False):
    """TableColumn is a column of a table or of an answer."""
    # Of letters, digits and _, such as unit_price.
    name: str
    # As the document has it, such as "Unit price (EUR)". Empty in answers.
    title: str
    # number, date, text or boolean.
    type: str
    # Of numbers: a currency such as EUR, %, or another unit. May be empty.
    unit: str
    # The first different values, up to 3, as texts. Empty in answers.
    samples: list[str]


class QueryTableRequest(TypedDict, total=False):
    """The message QueryTableRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # In which tables are found by name. Default: all namespaces.
    namespace: str
    # What to compute. Exactly one of plan and sql is given.
    plan: TablePlan
    # The same as one SELECT in a subset of SQL, up to 10000 bytes, which docs/reference/tables.md describes.
    sql: str


TablePlan = TypedDict(
    "TablePlan",
    {
        # The tableId or the name of a table.
        "table": "str",
        # By which values name the table. Default: its name.
        "as": "str",
        # Up to 3 further tables.
        "joins": "list[TableJoin]",
        # Names values, so that filter and having can use them, up to 20.
        "compute": "list[TableValue]",
        # Only rows that match, in the language of docs/reference/filters.md over columns and the values of compute.
        "filter": "Any",
        # Values that rows are grouped by, up to 20. They come first in the answer, unless select has them.
        "groupBy": "list[str]",
        # The values of the answer, up to 50. Default: all columns; with group_by, the number of rows.
        "select": "list[TableValue]",
        # Only groups that match: a filter over the values of select and compute.
        "having": "Any",
        # Up to 10. What is equal comes in the order of the rows, or of the groups.
        "orderBy": "list[TableOrder]",
        # 1 to 1000 rows of the answer; default 100.
        "limit": "int",
        # Rows of the answer to pass over, up to 100000.
        "offset": "int",
    },
    total=False,
)


TableJoin = TypedDict(
    "TableJoin",
    {
        # The tableId or the name of a table.
        "table": "str",
        # By which values name it. Default: its name.
        "as": "str",
        # Keeps rows that have none in the joined table; its values are then null.
        "left": "bool",
        # Values that are equal in joined rows, 1 to 5 pairs.
        "on": "list[TableJoinPair]",
    },
    total=False,
)


class TableJoinPair(TypedDict, total=False):
    """TableJoinPair is a pair of values that are equal."""
    # A value of the tables before.
    left: str
    # A value of the joined table.
    right: str


TableValue = TypedDict(
    "TableValue",
    {
        # An expression, such as amount, quantity * price, or sum(amount) / count(*). May be left out for the aggregate count.
        "value": "str",
        # count, sum, avg, min, max, median, or distinct (the number of different values). Empty: the value itself.
        "aggregate": "str",
        # Its name in the answer. Default: made from the value.
        "as": "str",
    },
    total=False,
)


class TableOrder(TypedDict, total=False):
    """TableOrder sorts an answer."""
    # An expression, or the name of a value of select.
    value: str
    descending: bool


class QueryTableResponse(TypedDict, total=False):
    """The message QueryTableResponse."""
    columns: list[TableColumn]
    rows: list[TableRow]
    # There are more rows than the limit.
    truncated: bool
    # The tables that were read, in the order of the plan.
    sources: list[TableSource]
    # What was computed: the plan of the request, or that of its sql.
    plan: TablePlan


class TableRow(TypedDict, total=False):
    """TableRow is a row of an answer."""
    # In the order of the columns: numbers, texts (also for dates), booleans and null. A whole number of more than 15 digits is a text.
    values: list[Any]
    # Rows of the tables that it was computed from.
    rowCount: int
    # For each source the cells that it was computed from, such as "B2:D9, B12:D12", with ... after 20 ranges; empty for none.
    cells: list[str]


class TableSource(TypedDict, total=False):
    """TableSource is a table that was read for an answer."""
    tableId: str
    name: str
    documentId: str
    namespace: str
    uri: str
    title: str
    sheet: str
    # The cells that were read, such as "B2:D9".
    range: str
    notes: list[str]


class CheckGroundingRequest(TypedDict, total=False):
    """The message CheckGroundingRequest."""
    # Required. At most 64 KiB and 1000 sentences.
    answer: str
    # The sources, some of the following: at most 100 passages with 1 MiB of text together.
    texts: list[GroundingText]
    # Of the following. May be left out if the caller sees one index alone.
    indexName: str
    # As in VectorQuery.
    namespace: str
    chunkIds: list[str]
    # Documents, with all their chunks.
    documentIds: list[str]
    # A question, whose sources are those that VectorQuery finds for it.
    queryText: str
    # How many it finds: 1 to 100. Default: 10.
    topK: int
    # As in VectorQuery. It holds for all that is read of the index.
    filter: Any


class GroundingText(TypedDict, total=False):
    """GroundingText is a source that is stored nowhere."""
    text: str
    # What the text is about. Words of it need not be repeated in the text.
    title: str


class CheckGroundingResponse(TypedDict, total=False):
    """The message CheckGroundingResponse."""
    # In the order of the answer.
    sentences: list[GroundedSentence]
    # Mean of the scores of sentences that claim something; 1 if none does.
    score: float
    # How many sentences have the state.
    supportedCount: int
    partlyCount: int
    unsupportedCount: int
    # What the sentences were compared with: texts first, then chunks in the order of their documents, then what the question finds.
    # Each chunk is there once.
    sources: list[GroundingSource]


class GroundedSentence(TypedDict, total=False):
    """GroundedSentence is a sentence of an answer."""
    # Byte range in the answer, end exclusive, with the citations behind the sentence.
    range: ByteRange
    text: str
    # supported, partly, unsupported, or no_claim for a question, a greeting, a heading, or that nothing was found.
    state: str
    # Share of the sentence that its quotes say, 0 to 1; at most 0.2 if no source has a number, date or name of it, and 0 for no_claim.
    score: float
    # What supports it, best first, at most 2; of an unsupported sentence, what denies it.
    quotes: list[GroundingQuote]
    # What it says and its sources do not.
    missing: list[GroundingMissing]


class GroundingQuote(TypedDict, total=False):
    """GroundingQuote is the part of a source that says what a sentence says."""
    # Number of the source, from 0.
    source: int
    # Byte range in the text of the source, end exclusive. Empty if its title alone says it.
    range: ByteRange
    text: str


class GroundingMissing(TypedDict, total=False):
    """GroundingMissing is a part of a sentence that its sources do not have."""
    # Byte range in the answer, end exclusive.
    range: ByteRange
    text: str
    # number, date, name, or negation: the sentence denies what its source says, or claims what that denies.
    kind: str
    # Some source has it, but not the one that supports the sentence.
    elsewhere: bool


class GroundingSource(TypedDict, total=False):
    """GroundingSource is a source of a check. Of a text it has the title alone."""
    # Of the chunk.
    id: str
    documentId: str
    uri: str
    title: str
    # Byte range of the chunk in the document's text, end exclusive.
    startByte: int
    endByte: int


class Agent(TypedDict, total=False):
    """Agent is an agent of a tenant."""
    agentName: str
    # See docs/reference/agents.md.
    definition: dict[str, Any]
    createTime: str
    updateTime: str
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str


class CreateAgentRequest(TypedDict, total=False):
    """The message CreateAgentRequest."""
    # 1 to 60 letters, digits, _ and -.
    agentName: str
    # Required. See docs/reference/agents.md.
    definition: dict[str, Any]


class GetAgentRequest(TypedDict, total=False):
    """The message GetAgentRequest."""
    agentName: str


class ListAgentsRequest(TypedDict, total=False):
    """The message ListAgentsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListAgentsResponse(TypedDict, total=False):
    """The message ListAgentsResponse."""
    agents: list[Agent]
    # Empty on the last page.
    nextPageToken: str


class UpdateAgentRequest(TypedDict, total=False):
    """The message UpdateAgentRequest."""
    agentName: str
    # Required. Replaces the whole definition.
    definition: dict[str, Any]
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str


class DeleteAgentRequest(TypedDict, total=False):
    """The message DeleteAgentRequest."""
    agentName: str


class DeleteAgentResponse(TypedDict, total=False):
    """The message DeleteAgentResponse."""


class AskAgentRequest(TypedDict, total=False):
    """The message AskAgentRequest."""
    agentName: str
    # Required. At most 64 KiB.
    message: str
    # Continues the caller's conversation of this id, or begins it. 1 to 100 letters, digits, _, ., :
    # and -. Empty for a single question.
    threadId: str


class AskAgentResponse(TypedDict, total=False):
    """The message AskAgentResponse."""
    # The answer; [1] cites the citation of that number.
    text: str
    # The answer of an agent with an output schema.
    object: dict[str, Any]
    citations: list[AgentCitation]
    usage: AgentUsage
    # Of an agent whose grounding is mark or remove.
    grounding: AgentGrounding


class AgentGrounding(TypedDict, total=False):
    """AgentGrounding says how far an answer rests on what the agent's tools have found, see QueryService.CheckGrounding."""
    # As in CheckGroundingResponse, of the answer as the model gave it.
    score: float
    supportedCount: int
    partlyCount: int
    unsupportedCount: int
    # Unsupported sentences that were removed from the text: all of them with remove, 0 with mark.
    removedCount: int
    # With mark: the sentences that are unsupported or supported in part, with their bytes in the text and without quotes.
    sentences: list[GroundedSentence]


class AgentCitation(TypedDict, total=False):
    """AgentCitation is a passage that an answer cites."""
    number: int
    uri: str
    documentId: str
    title: str
    # Byte range of the passage in the document's text, end exclusive.
    startByte: int
    endByte: int
    text: str


class AgentUsage(TypedDict, total=False):
    """AgentUsage is what an answer has taken."""
    # Turns of the model.
    steps: int
    toolCalls: int
    inputTokens: int
    outputTokens: int
    # By the agent's prices.
    cost: float
    # Citations that were removed: of a number that no passage has, or behind a quotation that does
    # not stand in the passage.
    removedCitations: int


class AskAgentStreamRequest(TypedDict, total=False):
    """The message AskAgentStreamRequest."""
    ask: AskAgentRequest


class AskAgentEvent(TypedDict, total=False):
    """The message AskAgentEvent."""
    # A turn of the model begins.
    step: AgentStep
    toolCall: AgentToolCall
    toolResult: AgentToolResult
    # A piece of the text of the current step. The text of a step that calls tools is no part of the
    # answer.
    text: str
    answer: AskAgentResponse


class AgentStep(TypedDict, total=False):
    """The message AgentStep."""
    # From 1.
    number: int
    model: str


class AgentToolCall(TypedDict, total=False):
    """The message AgentToolCall."""
    step: int
    toolName: str
    arguments: dict[str, Any]
    # The number of the call in the run, from 1. Calls of tools that change nothing may run at once.
    call: int


class AgentToolResult(TypedDict, total=False):
    """The message AgentToolResult."""
    step: int
    toolName: str
    # Empty for success.
    error: str
    took: str
    # The number of the call in the run, from 1.
    call: int


class Thread(TypedDict, total=False):
    """Thread is a conversation of a caller with an agent."""
    threadId: str
    # The newest last, at most 40 with 64 KiB.
    messages: list[ThreadMessage]
    createTime: str
    updateTime: str


class ThreadMessage(TypedDict, total=False):
    """The message ThreadMessage."""
    # user or assistant.
    role: str
    text: str


class GetThreadRequest(TypedDict, total=False):
    """The message GetThreadRequest."""
    agentName: str
    threadId: str


class ListThreadsRequest(TypedDict, total=False):
    """The message ListThreadsRequest."""
    agentName: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListThreadsResponse(TypedDict, total=False):
    """The message ListThreadsResponse."""
    threads: list[Thread]
    # Empty on the last page.
    nextPageToken: str


class DeleteThreadRequest(TypedDict, total=False):
    """The message DeleteThreadRequest."""
    agentName: str
    threadId: str


class DeleteThreadResponse(TypedDict, total=False):
    """The message DeleteThreadResponse."""


class Alert(TypedDict, total=False):
    """Alert is a question that new passages of an index are compared with."""
    alertId: str
    displayName: str
    indexName: str
    namespace: str
    queryText: str
    # hybrid, keyword or vector.
    searchMode: str
    filter: dict[str, Any]
    # The least similarity of question and passage; 0 with the mode keyword.
    minScore: float
    # The credential that made it: the id of an API key, or the subject of an access token.
    subject: str
    # Why nothing matches any more, such as a key that was revoked; empty while it is active.
    endedReason: str
    createTime: str
    updateTime: str
    # Passages are not compared until it is resumed; those of that time never match.
    paused: bool


class CreateAlertRequest(TypedDict, total=False):
    """The message CreateAlertRequest."""
    # Default: the tenant's only index.
    indexName: str
    # Required. At most 2,000 bytes.
    queryText: str
    # Which passages match:
    # hybrid   those that have a term of the question and a similarity of at least minScore
    # keyword  those that have all terms of the question
    # vector   those with a similarity of at least minScore, whatever their words are
    # Default: hybrid, and keyword for an index without an embedding model.
    searchMode: str
    # The least similarity, on the scale of similarity in the sources of VectorQuery. Required
    # with the modes hybrid and vector.
    minScore: float
    # Only passages whose metadata it selects. $uri is not available.
    filter: dict[str, Any]
    # Default: default.
    namespace: str
    # At most 200 bytes.
    displayName: str
    # Makes it without comparing passages until it is resumed. Default: false.
    paused: bool


class PreviewAlertRequest(TypedDict, total=False):
    """The message PreviewAlertRequest."""
    # Default: the tenant's only index.
    indexName: str
    # Required. At most 2,000 bytes.
    queryText: str
    # hybrid, keyword or vector, as in CreateAlert.
    searchMode: str
    # The least similarity. Without one nothing matches with the modes hybrid and vector, and
    # passages shows which similarity the nearest ones have.
    minScore: float
    # Only passages whose metadata it selects. $uri is not available.
    filter: dict[str, Any]
    # Default: default.
    namespace: str
    # How many passages are returned, at most 100. Default: 20.
    topK: int


class PreviewAlertResponse(TypedDict, total=False):
    """The message PreviewAlertResponse."""
    # Those that match, the most similar first, and then the most similar ones of the others. With the
    # mode keyword only those that match, the newest documents first.
    passages: list[PreviewedPassage]
    # How many of the compared passages match.
    matchCount: int
    # How many passages were compared.
    comparedCount: int
    # Whether these are all passages that the filter selects, not only the newest.
    complete: bool


class PreviewedPassage(TypedDict, total=False):
    """PreviewedPassage is a passage that was compared with the question of an alert."""
    # Its score is the similarity, 0 with the mode keyword.
    source: Source
    matches: bool


class GetAlertRequest(TypedDict, total=False):
    """The message GetAlertRequest."""
    # Required.
    alertId: str


class ListAlertsRequest(TypedDict, total=False):
    """The message ListAlertsRequest."""
    # Only alerts of this index.
    indexName: str
    # At most 1,000. Default: 100.
    pageSize: int
    # nextPageToken of the previous page.
    pageToken: str


class ListAlertsResponse(TypedDict, total=False):
    """The message ListAlertsResponse."""
    alerts: list[Alert]
    # Empty on the last page.
    nextPageToken: str


class UpdateAlertRequest(TypedDict, total=False):
    """The message UpdateAlertRequest."""
    # Required.
    alertId: str
    queryText: str
    searchMode: str
    minScore: float
    # {} selects all passages.
    filter: dict[str, Any]
    displayName: str
    # true pauses it, false resumes it.
    paused: bool


class DeleteAlertRequest(TypedDict, total=False):
    """The message DeleteAlertRequest."""
    # Required.
    alertId: str


class DeleteAlertResponse(TypedDict, total=False):
    """The message DeleteAlertResponse."""


class ListAlertMatchesRequest(TypedDict, total=False):
    """The message ListAlertMatchesRequest."""
    # Required.
    alertId: str
    # At most 1,000. Default: 100.
    pageSize: int
    # nextPageToken of the previous page.
    pageToken: str


class ListAlertMatchesResponse(TypedDict, total=False):
    """The message ListAlertMatchesResponse."""
    matches: list[AlertMatch]
    # Empty on the last page.
    nextPageToken: str


class AlertMatch(TypedDict, total=False):
    """AlertMatch is a passage that matched an alert."""
    matchId: str
    # The passage as it is now. Its score is that of the match: the similarity, 0 with the mode
    # keyword.
    source: Source
    createTime: str


class GetQuotasRequest(TypedDict, total=False):
    """The message GetQuotasRequest."""


class GetQuotasResponse(TypedDict, total=False):
    """The message GetQuotasResponse."""
    # The tenant's plan. Empty for none.
    planName: str
    # Where the tenant gets a larger plan, such as an address of the web. Empty if the operator does not say it.
    planContact: str
    # Features that the plan leaves out.
    without: list[str]
    # Patterns of the models at endpoints that the plan allows. Empty for all.
    models: list[str]
    # In the order of their names.
    quotas: list[Quota]


class Quota(TypedDict, total=False):
    """Quota is a limit that holds for a tenant."""
    # concurrentRequests, maxDocumentBytes, maxDocuments, maxIndexes, maxTokensPerMonth or requestsPerSecond, as in the
    # settings of Tenant.
    name: str
    # 0 for no limit.
    limit: float
    # Where the limit comes from: settings (of the tenant), plan, or default (of the service).
    source: str
    # Documents, their bytes and indexes that the tenant has, and tokens of this month, without those of the last seconds.
    # Missing for requests.
    used: float


class ListUsageRequest(TypedDict, total=False):
    """The message ListUsageRequest."""
    # The begin, cut to the hour. Default: 30 days before the end.
    startTime: str
    # The end, which is excluded. Default: the end of the present hour.
    endTime: str
    # hour, day or month, by UTC. Default: day.
    interval: str
    # What has rows of its own: some of index, stage and model; total adds all up. Default: index
    # and stage.
    groupBy: list[str]
    # Only this index. Default: all.
    indexName: str
    # Only this stage. Default: all.
    stage: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListUsageResponse(TypedDict, total=False):
    """The message ListUsageResponse."""
    rows: list[Usage]
    # Empty on the last page.
    nextPageToken: str


class Usage(TypedDict, total=False):
    """Usage is what a tenant used in an interval. What the request does not group by is empty."""
    # The begin of the interval.
    startTime: str
    tenantId: str
    # Empty for what was used outside of an index. Indexes may be deleted by now.
    indexName: str
    # ingest, upsert (ready-made vectors), query, walk (searches of the graph), or a call of a
    # model: embedding, rerank, chat, transcription.
    stage: str
    # The model as endpoint/model, for calls of models.
    model: str
    # Requests of upsert, query and walk; calls of models.
    calls: float
    # Documents that became searchable, each version once.
    documents: float
    # Chunks of these documents, or ready-made vectors.
    chunks: float
    # Bytes of the uploaded documents, or of the values of vectors.
    bytes: float
    # Tokens that models read and wrote, as their endpoints say; where they say nothing, one for
    # four bytes. The model builtin/hash-512 has none.
    inputTokens: float
    outputTokens: float
    # Seconds of the recordings that were transcribed, as the endpoint says.
    seconds: float


class Tenant(TypedDict, total=False):
    """Tenant is a customer of the service."""
    # 1 to 40 characters of [a-z0-9-], the first a letter.
    tenantId: str
    # Name for display, at most 200 bytes.
    displayName: str
    # Free-form settings of the operator; at most 16 KiB of JSON. Some keys are quotas of the
    # tenant, whole numbers from 1 to 1,000,000 in place of the service's standard ones:
    # maxIndexes, and on each instance requestsPerSecond (with bursts of twice as many) and
    # concurrentRequests (besides streams). maxTokensPerMonth, maxDocuments and
    # maxDocumentBytes are too, of up to 10^12 and 10^15. sleepAfter is how long the tenant is unused before it
    # is put to sleep, such as 720h, or never. deletedRetention is how long its deleted documents, and itself once it
    # is deleted, can be restored, such as 720h; 0s to erase them at once.
    settings: dict[str, Any]
    createTime: str
    updateTime: str
    # The database in which the tenant lives; main for the one with the control schema.
    database: str
    # active, asleep, waking or deleted. The data of a tenant that is asleep is in an archive outside the database, and the
    # tenant's first call wakes it; while it is waking, its data is loaded from there. A deleted one is
    # used by nobody, and can be restored.
    state: str
    # Since when it is asleep. Missing for a tenant that is active.
    asleepTime: str
    # Size of the archive of a tenant that is not active.
    archivedBytes: float
    # The tenant's plan. Empty for none.
    planName: str
    # The quotas that hold for the tenant, by name, without what it uses of them. Missing in lists of tenants.
    quotas: list[Quota]
    # When a deleted tenant was deleted, and until when it can be restored.
    deleteTime: str
    eraseTime: str


class CreateTenantRequest(TypedDict, total=False):
    """The message CreateTenantRequest."""
    # Required. 1 to 40 lower-case letters, digits and hyphens, the first a letter.
    tenantId: str
    displayName: str
    # Settings of the tenant, as in Tenant.
    settings: dict[str, Any]
    # The database in which the tenant lives from then on: main or a registered one. Default: the one
    # that the tenant brought, else the one with the fewest bytes among main and those of the operator
    # that answer.
    database: str
    # The tenant's plan. Default: none.
    planName: str


class GetTenantRequest(TypedDict, total=False):
    """The message GetTenantRequest."""
    # Required.
    tenantId: str


class ListTenantsRequest(TypedDict, total=False):
    """The message ListTenantsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str
    # active, asleep, waking or deleted. Default: tenants of all states but deleted.
    state: str
    # Default: tenants with any plan and without one.
    planName: str


class ListTenantsResponse(TypedDict, total=False):
    """The message ListTenantsResponse."""
    tenants: list[Tenant]
    # Empty on the last page.
    nextPageToken: str


class UpdateTenantRequest(TypedDict, total=False):
    """The message UpdateTenantRequest."""
    # Required.
    tenantId: str
    displayName: str
    # Replaces all settings.
    settings: dict[str, Any]
    # The tenant's plan from then on; empty for none.
    planName: str


class SetVectorStoreNamesRequest(TypedDict, total=False):
    """The message SetVectorStoreNamesRequest."""
    # At most 16, each of 1 to 64 letters, digits, _, - and . They replace the present ones.
    vectorStoreNames: list[str]


class SetVectorStoreNamesResponse(TypedDict, total=False):
    """The message SetVectorStoreNamesResponse."""
    vectorStoreNames: list[str]


class GetVectorStoreNamesRequest(TypedDict, total=False):
    """The message GetVectorStoreNamesRequest."""


class GetVectorStoreNamesResponse(TypedDict, total=False):
    """The message GetVectorStoreNamesResponse."""
    vectorStoreNames: list[str]


class RepairTenantRequest(TypedDict, total=False):
    """The message RepairTenantRequest."""
    # Required.
    tenantId: str


class RepairTenantResponse(TypedDict, total=False):
    """The message RepairTenantResponse."""
    # What was wrong; empty if nothing was.
    problem: str


class DeleteTenantRequest(TypedDict, total=False):
    """The message DeleteTenantRequest."""
    # Required.
    tenantId: str
    # Erases the tenant at once, also one that was deleted and could be restored. It cannot be undone.
    erase: bool


class RestoreTenantRequest(TypedDict, total=False):
    """The message RestoreTenantRequest."""
    # Required.
    tenantId: str


class DeleteTenantResponse(TypedDict, total=False):
    """The message DeleteTenantResponse."""
    # What was deleted, by kind; if the tenant can be restored, what will be erased. A call that goes on with an interrupted deletion counts what was
    # left.
    deleted: list[TenantRows]
    # Size of the tenant's own tables, with their indexes.
    deletedBytes: float
    # What is still in the database, with the reason.
    kept: list[TenantRows]
    # Until when RestoreTenant can undo it. Missing if the tenant was erased.
    eraseTime: str


class TenantRows(TypedDict, total=False):
    """TenantRows are the rows of a kind that a tenant had."""
    # Such as documents or api keys.
    kind: str
    count: float
    # Of what is kept.
    reason: str


class ReencryptSecretsRequest(TypedDict, total=False):
    """The message ReencryptSecretsRequest."""


class ReencryptSecretsResponse(TypedDict, total=False):
    """The message ReencryptSecretsResponse."""
    # Secrets that are encrypted with another key than before.
    reencrypted: int
    # What no master key opens: endpoints, secrets and hooks, as tenant/endpoints/name,
    # tenant/secrets/name and tenant/hooks/name, whose tenants must give the keys again or rotate
    # the hook's secret; and the service's own signing keys, as signing-keys/id, which it replaces
    # itself.
    lost: list[str]


class ApiKey(TypedDict, total=False):
    """ApiKey describes a credential. It never contains the secret."""
    apiKeyId: str
    tenantId: str
    displayName: str
    # The first characters of the secret, which identify the key in lists and logs.
    prefix: str
    # `read`, `write`, `admin` of the tenant, or `operator` of the service. Each
    # includes those before it.
    scopes: list[str]
    # Filter that is and-ed with every read of this key, see docs/reference/filters.md.
    mandatoryFilter: dict[str, Any]
    createTime: str
    expireTime: str
    revokeTime: str
    # What the key may use, by name. A list that is missing allows all names.
    servers: AllowedNames
    indexes: AllowedNames
    tools: AllowedNames
    prompts: AllowedNames
    # Attributes of who uses the key.
    attributes: dict[str, Any]
    # When the key was first and last used, to the minute; missing if it never was.
    firstUseTime: str
    lastUseTime: str
    # Why the key is refused although it is neither revoked nor expired, such as a mandatory filter that this version of the service does
    # not read. mandatoryFilter is missing then. Empty if the key may be used.
    unusableReason: str
    # Web origins whose pages may use the key, such as `https://docs.example.com`. Without any, the key is for programs.
    origins: list[str]


class AllowedNames(TypedDict, total=False):
    """AllowedNames is a list of the names that may be used; an empty list allows none. Names need
    not exist.
    """
    # At most 200 names.
    names: list[str]


class CreateApiKeyRequest(TypedDict, total=False):
    """The message CreateApiKeyRequest."""
    tenantId: str
    displayName: str
    # Default: read and write.
    scopes: list[str]
    # Default: the key does not expire.
    expireTime: str
    # A filter that is and-ed with every read of the key. Default: none.
    mandatoryFilter: dict[str, Any]
    # The MCP servers, indexes, tools and prompts that the key may use. What it may not use does
    # not exist for it. A key that is bound to tools or servers may only call tools. Default:
    # those of the caller, which are all unless its own credential is bound.
    servers: AllowedNames
    indexes: AllowedNames
    tools: AllowedNames
    prompts: AllowedNames
    # Attributes of who uses the key, such as a department, for templates and filters. At most
    # 4 KiB of JSON.
    attributes: dict[str, Any]
    # Web origins, such as `https://docs.example.com`, at most 20. Pages of these origins alone may use the key, for
    # `QueryService/VectorQuery` and for chat completions. As anybody can read such a key, it has the scope read alone, needs
    # indexes, and asks no agent but those that tools names, as `ask_NAME`. Default: none, the key is for programs.
    origins: list[str]


class CreateApiKeyResponse(TypedDict, total=False):
    """The message CreateApiKeyResponse."""
    apiKey: ApiKey
    # The key itself, which is shown only here.
    secret: str


class ListApiKeysRequest(TypedDict, total=False):
    """The message ListApiKeysRequest."""
    # Default: the caller's tenant; for an operator, the operator keys.
    tenantId: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListApiKeysResponse(TypedDict, total=False):
    """The message ListApiKeysResponse."""
    apiKeys: list[ApiKey]
    # Empty on the last page.
    nextPageToken: str


class RevokeApiKeyRequest(TypedDict, total=False):
    """The message RevokeApiKeyRequest."""
    # Required.
    apiKeyId: str


class RevokeApiKeyResponse(TypedDict, total=False):
    """The message RevokeApiKeyResponse."""


class WhoAmIRequest(TypedDict, total=False):
    """The message WhoAmIRequest."""


class WhoAmIResponse(TypedDict, total=False):
    """The message WhoAmIResponse."""
    # The id of an API key, `operator` for the operator's configured key, or the subject of an
    # access token as `user:` or `client:` and its name, with several issuers as
    # `user@https://id.example.com alice`.
    subject: str
    # The tenant whose data the call may use. Empty for an operator who named none.
    tenantId: str
    # All scopes that the credential has, those that others include too.
    scopes: list[str]
    # Whether the credential is an access token. Its client may request more scopes.
    accessToken: bool
    # Whether a mandatory filter hides documents from the credential.
    filtered: bool
    # What the credential may use, by name. A list that is missing allows all names.
    servers: AllowedNames
    indexes: AllowedNames
    tools: AllowedNames
    prompts: AllowedNames


class SleepTenantRequest(TypedDict, total=False):
    """The message SleepTenantRequest."""
    # Required.
    tenantId: str


class WakeTenantRequest(TypedDict, total=False):
    """The message WakeTenantRequest."""
    # Required.
    tenantId: str


class MoveTenantRequest(TypedDict, total=False):
    """The message MoveTenantRequest."""
    # Required.
    tenantId: str
    # Required. The name of the database to which the tenant is moved; main for the first one.
    databaseName: str


class TenantMove(TypedDict, total=False):
    """TenantMove is the move of a tenant from one database of the service to another."""
    moveId: str
    tenantId: str
    # Name of the database in which the tenant lived; main for the first one.
    fromDatabaseName: str
    # Name of the database to which the tenant is moved; main for the first one.
    databaseName: str
    # copying, switching, dropping, done or failed. From switching on the tenant lives in its new database. While it is
    # dropping, the old one keeps its copy. A move that has failed has left the tenant where it was.
    phase: str
    # What is done now, for people.
    step: str
    # How often the copy was begun.
    attempts: int
    # Why the last attempt failed; empty if it did not.
    error: str
    # Rows and bytes that were copied in this attempt.
    rows: float
    bytes: float
    # For how long the tenant's writes were refused. 0 before the switch.
    writePauseMs: float
    # When the old copy is dropped. Absent before the switch.
    keepUntilTime: str
    createTime: str
    updateTime: str


class GetTenantMoveRequest(TypedDict, total=False):
    """The message GetTenantMoveRequest."""
    # Required.
    moveId: str


class ListTenantMovesRequest(TypedDict, total=False):
    """The message ListTenantMovesRequest."""
    # Only moves of this tenant. Empty for all.
    tenantId: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListTenantMovesResponse(TypedDict, total=False):
    """The message ListTenantMovesResponse."""
    moves: list[TenantMove]
    # Empty on the last page.
    nextPageToken: str


class ExportTenantRequest(TypedDict, total=False):
    """The message ExportTenantRequest."""
    # Required.
    tenantId: str
    # Leave out API keys and issuers.
    withoutKeys: bool
    # SHA-256 checksums of frames with rows that the caller has, 32 bytes each, one after the other. At most
    # 500,000.
    knownFrames: str


class ExportTenantResponse(TypedDict, total=False):
    """The message ExportTenantResponse."""
    # The next bytes of the archive, at most 1 MiB.
    data: str
    # The head of a frame that the caller has. In the archive it is followed by the stored bytes
    # that the caller has, whose number and checksum it must get.
    knownFrame: str


class ImportTenantRequest(TypedDict, total=False):
    """The message ImportTenantRequest."""
    # Required in the first message.
    options: ImportOptions
    # The next bytes of the archive.
    data: str


class ImportOptions(TypedDict, total=False):
    """The message ImportOptions."""
    # Name of the imported tenant. Default: that in the archive. Under another name API keys, issuers and usage are left
    # out, hooks are disabled and connectors are paused.
    tenantId: str
    # Leave out API keys and issuers under the name in the archive too.
    withoutKeys: bool
    # Go on with the import of tenant_id, with the options that it was begun with. The data begin with the
    # frame after those that GetImport counts.
    resume: bool
    # The database in which the tenant lives from then on: main or a registered one. Default: as in CreateTenantRequest. To resume, that
    # of the beginning or none.
    database: str


class ImportTenantResponse(TypedDict, total=False):
    """The message ImportTenantResponse."""
    tenant: Tenant
    # Name of the tenant in the archive.
    archivedTenantId: str
    # Rows that were stored, by kind.
    rows: list[TenantRows]
    # Rows of the archive that were not stored, with the reason.
    leftOut: list[TenantRows]
    # Secrets that no master key of this service opens, such as secrets/crm: they must be given again.
    lostSecrets: list[str]


class GetImportRequest(TypedDict, total=False):
    """The message GetImportRequest."""
    # Required.
    tenantId: str


class TenantImport(TypedDict, total=False):
    """TenantImport is an import that has not ended."""
    tenantId: str
    # Name of the tenant in the archive.
    archivedTenantId: str
    # Frames of the archive that are stored.
    frames: float
    # Rows in these.
    rows: float
    createTime: str
    updateTime: str


class ListAuditEntriesRequest(TypedDict, total=False):
    """The message ListAuditEntriesRequest."""
    # Only entries from this time on. Default: all.
    startTime: str
    # Only entries before this time. Default: all.
    endTime: str
    # Only action, which are administrative actions, denied, which are calls that were denied, or policy, which is
    # what policies did to calls of tools. Default: all.
    kind: str
    # Only calls of this subject: the id of an API key, or the subject of an access token.
    subject: str
    # Only calls of this method, such as DeleteIndex or ragd.v1.IndexService/DeleteIndex.
    method: str
    # Only calls with this outcome: ok, unknown, or the code of an error, such as
    # denied.
    outcome: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListAuditEntriesResponse(TypedDict, total=False):
    """The message ListAuditEntriesResponse."""
    entries: list[AuditEntry]
    # Empty on the last page.
    nextPageToken: str


class AuditEntry(TypedDict, total=False):
    """AuditEntry is an administrative action, or the sum of the calls of one caller that were denied
    within a minute. Nothing changes an entry, but that an action gets its outcome.
    """
    # Later entries have higher ids.
    entryId: str
    # When the action began, or the minute of denied calls ended.
    createTime: str
    # action, denied or policy.
    kind: str
    # The tenant that it is about; empty for none. It may be deleted by now.
    tenantId: str
    # Who called: the id of an API key, `operator` for the operator key of the settings, or the
    # subject of an access token. Empty if the credential was refused.
    subject: str
    # The authorization server of the access token.
    issuer: str
    # The address of the caller, or of the proxy before the service; of denied calls over IPv6 its
    # network of 64 bits. Tenants do not see those of operators.
    clientAddress: str
    # The method of the API that does this, also if it was called by another interface.
    method: str
    # What it is about: names and ids in the request, by field. `fields` lists the other fields that
    # the request gave, without their values.
    object: dict[str, str]
    # The X-Request-Id, of denied calls that of the first.
    requestId: str
    # How many calls this is.
    calls: int
    # ok, or the code of an error. Empty while the action goes on, and for ever if the instance or
    # the database ended before it.
    outcome: str
    # When the action ended.
    endTime: str
    # Ids and names of what the action made, by field of the answer.
    result: dict[str, str]


class Chunking(TypedDict, total=False):
    """Chunking holds the options of a split; docs/reference/chunking.md lists which strategy takes
    which. An option that the strategy does not know is an error. Sizes are in UTF-16 code
    units, or in tokens for the strategies token and semantic-markdown.
    """
    # recursive, character, token, markdown, semantic-markdown, html, json, latex or
    # sentence. Default: chosen by content type, then by file name; else recursive.
    strategy: str
    # Longest chunk, at most 1,000,000. Default: 4000, or 800 for uploads.
    maxSize: int
    # Alias of maxSize.
    size: int
    # For json: chunks shorter than this are joined. Default: maxSize - 200, at least 50.
    minSize: int
    # How much of the end of a chunk the next one repeats; less than maxSize. Default: 200,
    # at most a fifth of maxSize.
    overlap: int
    # For recursive: separators, coarsest first. Default: "\\n\\n", "\\n", " " and "".
    separators: list[str]
    # For character; default: a blank line. For recursive, instead of separators: the coarsest
    # separator, which the default ones follow.
    separator: str
    # Whether separators are RE2 regular expressions. Default: false.
    isSeparatorRegex: bool
    # start or end: whether a separator goes with the text after or before it. Default: it
    # is dropped at the edges of chunks.
    separatorPosition: str
    # Alias of separatorPosition: true, false, "start" or "end".
    keepSeparator: Any
    # Removes white space at the ends of chunks. Default: true.
    stripWhitespace: bool
    # Adds startIndex, in UTF-16 code units, to each chunk's metadata.
    addStartIndex: bool
    # A programming or markup language, whose separators the strategy recursive uses.
    language: str
    # Token encoding. Default: cl100k_base.
    encodingName: str
    # Model whose token encoding is used; overrides encoding_name.
    modelName: str
    # For markdown and html: headers that start chunks. In JSON, each may be a pair such as
    # ["##", "section"], and so may sections.
    headers: list[ChunkingHeader]
    # For html, without headers: elements that are chunks.
    sections: list[ChunkingSection]
    # For markdown with headers: removes headings from the text. Default: true.
    stripHeaders: bool
    # For markdown with headers: each line that is not blank is a chunk. For html:
    # adjacent chunks with the same titles are not joined. Default: false.
    returnEachLine: bool
    # For json: writes non-ASCII characters in values as \\uxxxx. Default: true.
    ensureAscii: bool
    # For json: writes arrays as objects with indexes as keys. Default: false.
    convertLists: bool
    # For semantic-markdown: sections are joined below this many tokens. Default: 500.
    joinThreshold: int
    # For sentence: single characters. Default: those of most scripts.
    sentenceEnders: list[str]
    # For sentence: size from which a chunk is complete. Default: 80 % of maxSize.
    targetSize: int
    # For sentence: splits sentences longer than maxSize at words. Default: true.
    fallbackToWords: bool
    # For sentence: splits words longer than maxSize at characters. Default: true.
    fallbackToCharacters: bool
    # For token and semantic-markdown: special tokens of the encoding that count as one token, a
    # list such as ["<|endoftext|>"], or "all". Default: none.
    allowedSpecial: Any
    # For token and semantic-markdown: special tokens that make the call fail if the text has
    # them and allowedSpecial does not, a list or "all". Default: none.
    disallowedSpecial: Any
    # For files of uploads and their previews: the text also has what is not shown: comments and front matter of
    # Markdown, comments and hidden elements of HTML, hidden and deleted text, hidden sheets, rows, columns and
    # slides. Default: false.
    includeHidden: bool


class ChunkingHeader(TypedDict, total=False):
    """ChunkingHeader selects headers whose text is stored in metadata."""
    # "##" for Markdown, "h2" for HTML.
    marker: str
    # The metadata key.
    key: str


class ChunkingSection(TypedDict, total=False):
    """ChunkingSection selects HTML elements whose title is stored in metadata."""
    # A selector, such as "section" or ".part".
    path: str
    # The metadata key of the title.
    key: str


class Chunk(TypedDict, total=False):
    """Chunk is a piece of a document."""
    # Empty in the response of ChunkText.
    chunkId: str
    documentId: str
    # Number of the chunk in its document, from 0.
    ordinal: int
    text: str
    metadata: dict[str, Any]
    # Byte range of the chunk in the source, end exclusive. For formats that are converted
    # to text first, such as HTML and PDF, the range is in that text, and metadata.position
    # holds the position in the file.
    startByte: int
    endByte: int
    # Set by the strategies token and semantic-markdown; else 0.
    tokenCount: int


class ChunkTextRequest(TypedDict, total=False):
    """The message ChunkTextRequest."""
    # The text to split.
    text: str
    # The text to split, as bytes in UTF-8.
    content: str
    # Chooses the default strategy, e.g. text/markdown.
    contentType: str
    # Copied into each chunk's metadata.
    metadata: dict[str, Any]
    chunking: Chunking
    # Makes the call a preview: the result has the chunks that UploadDocument would store.
    # The content may then be of any format that can be uploaded.
    upload: UploadPreview
    # Metadata to extract from the chunks, as in UploadDocument, with at most 500 calls of a
    # language model. A preview extracts only what is named here, not what its index names.
    extract: dict[str, Any]


class UploadPreview(TypedDict, total=False):
    """UploadPreview says which upload ChunkText previews."""
    # The index whose chunking settings apply unless the request has its own. If empty, the
    # defaults of uploads apply.
    indexName: str
    # The uri of the document. Its extension helps to detect the format.
    uri: str


class ChunkTextResponse(TypedDict, total=False):
    """The message ChunkTextResponse."""
    # In the order of their start.
    chunks: list[Chunk]
    # Cost and failures of the extraction; absent without one.
    extraction: Extraction


class Extraction(TypedDict, total=False):
    """Extraction reports the model calls that extracted metadata from a document's chunks;
    those of a job over all its attempts.
    """
    # Calls of language models, and their tokens.
    calls: int
    inputTokens: int
    outputTokens: int
    # Fields that could not be extracted in the last attempt. Their chunks do not have them.
    failed: int
    # The first 20 failures.
    failures: list[ExtractionFailure]


class ExtractionFailure(TypedDict, total=False):
    """ExtractionFailure is a field that could not be extracted from a chunk."""
    # Number of the chunk in its document, from 0.
    ordinal: int
    # title, summary, questions, keywords, schema or context.
    field: str
    # Why the field was not extracted.
    reason: str


class WebSource(TypedDict, total=False):
    """WebSource is the pages of a website: those that links from a start page lead to, or those in
    a sitemap. It keeps to robots.txt, to noindex and nofollow, and to one host.
    """
    # Required. The start page or, with sitemap, the sitemap.
    url: str
    # Whether url is a sitemap or an index of sitemaps, plain or gzipped. Its pages are read, and
    # links are not followed.
    sitemap: bool
    # Patterns of paths with their query, in which * stands for any text, such as /docs/*. Only
    # pages that match one are read; the start page is always read for its links. At most 50 of
    # 500 bytes. Default: all.
    include: list[str]
    # Pages that match one of these are not read. At most 50 of 500 bytes.
    exclude: list[str]
    # How many links a page may be away from the start page, from 0 to 20. Default: 5.
    maxDepth: int
    # Time from the beginning of a request to that of the next one in milliseconds, from 0 to 60,000. At most 4
    # requests are made at once. With a Crawl-delay in robots.txt there is one at a time, and the greater delay, up to 60
    # seconds, is waited after each. Default: 1,000.
    delayMs: int


class FeedSource(TypedDict, total=False):
    """FeedSource is the entries of an RSS, Atom or JSON feed, with the text that the feed has of them."""
    # Required.
    url: str
    # Whether the documents of entries that the feed no longer has are deleted. Default: they stay,
    # because most feeds have their newest entries alone.
    deleteMissing: bool


class GitSource(TypedDict, total=False):
    """GitSource is the files of a branch of a Git repository that is served over HTTP."""
    # Required. At most 800 bytes, without user and password.
    url: str
    # At most 200 bytes. Default: that of HEAD.
    branch: str
    # Patterns of paths in the repository, in which * stands for any text, such as docs/*.md. Only
    # files that match one are read. At most 50 of 500 bytes. Default: all.
    include: list[str]
    # Files that match one of these are not read. At most 50 of 500 bytes.
    exclude: list[str]
    # User to whom the secret belongs. At most 200 bytes. Default: git, which most hosts accept
    # with a token.
    user: str
    # Secret with the token or password. Default: nobody signs in.
    secretName: str


class S3Source(TypedDict, total=False):
    """S3Source is the objects of a bucket of a server that speaks the protocol of Amazon S3."""
    # Required. Address of the server without the bucket, such as
    # https://s3.eu-central-1.amazonaws.com. At most 500 bytes.
    endpoint: str
    # At most 100 bytes. Default: the server is asked.
    region: str
    # Required.
    bucket: str
    # Beginning of the keys. At most 1,000 bytes. Default: all.
    prefix: str
    # Patterns of keys, in which * stands for any text, such as docs/*.pdf. Only objects that match
    # one are read. At most 50 of 500 bytes. Default: all.
    include: list[str]
    # Objects that match one of these are not read. At most 50 of 500 bytes.
    exclude: list[str]
    # Id of the access key. At most 200 bytes. Default: requests are not signed.
    accessKeyId: str
    # Secret with the secret access key.
    secretName: str


class FolderSource(TypedDict, total=False):
    """FolderSource is the files of a folder of the machine on which the service runs. Only a credential
    with the scope operator can create, update and test such a connector, for folders that the setting
    connector-folders allows.
    """
    # Required. Absolute path. At most 1,000 bytes.
    path: str
    # Patterns of paths in the folder, in which * stands for any text, such as docs/*.md. Only files
    # that match one are read. At most 50 of 500 bytes. Default: all.
    include: list[str]
    # Files that match one of these are not read. At most 50 of 500 bytes.
    exclude: list[str]


class McpSource(TypedDict, total=False):
    """McpSource is the resources of a server of the Model Context Protocol, over streamable HTTP or, if the
    server knows that only, the older transport with server-sent events. Changes that the server announces
    start a run. Its tools and prompts can be offered to the tenant's agents too.
    """
    # Required. Address of the endpoint, such as https://mcp.example.com/mcp.
    url: str
    # Headers of all requests. {{secrets.NAME}} stands for a secret of the tenant. At most 16.
    headers: dict[str, str]
    # How long one request may take in milliseconds, from 100 to 60,000. Default: 30,000.
    timeoutMs: int
    # Resources that templates of the server name, beside those that the server lists. At most 100.
    templates: list[McpTemplate]
    # How the service gets a token for the server. Default: by AuthorizeConnector, if the server asks for a
    # token and no header Authorization is given.
    oauth: McpOAuth
    # Tools of the server that the tenant's agents can call. Default: none.
    tools: McpOffer
    # Prompts of the server that the tenant's clients can use. Default: none.
    prompts: McpOffer
    # Whether resources are left alone, and only tools and prompts are offered.
    withoutResources: bool
    # Whether changes that the server announces are not followed, so that only the schedule counts.
    withoutSubscription: bool


class McpTemplate(TypedDict, total=False):
    """McpTemplate is a template of resources with the arguments that make it the uri of one."""
    # Required. As RFC 6570 says, such as file:///{path}. At most 1,000 bytes.
    uriTemplate: str
    arguments: dict[str, str]


class McpOffer(TypedDict, total=False):
    """McpOffer is what is offered of a server's tools or prompts."""
    # Names at the server. At most 50. Default: all, up to 50.
    names: list[str]
    # What the tenant's names begin with; the rest is the name at the server. At most 32 letters, digits, _
    # and -. Default: the name of the connector with _.
    prefix: str
    # Descriptions that replace those of the server, by the names at the server. At most 4 KiB each.
    descriptions: dict[str, str]


class McpOAuth(TypedDict, total=False):
    """McpOAuth is how the service gets a token for a server."""
    # authorization_code: a user signs in once at the address of AuthorizeConnector. client_credentials: the
    # service signs in with client_id and client_secret. Default: authorization_code.
    grant: str
    # Id of the client at the authorization server. Default: the service introduces itself by a client id
    # metadata document or by dynamic registration.
    clientId: str
    # Name of the tenant's secret with the client's secret. It is sent to the issuer alone.
    clientSecret: str
    # Scopes to ask for. Default: those that the server names. At most 20.
    scopes: list[str]
    # The authorization server, which the server must name. Required with client_secret. Default: the first
    # one that the server names.
    issuer: str


class PostgresSource(TypedDict, total=False):
    """PostgresSource is the rows of a query of a PostgreSQL database."""
    # Required. Secret with the address of the database, such as
    # postgres://user:password@db.example.com:5432/name. The connection is encrypted and the
    # certificate checked, unless the address ends with ?sslmode=require or ?sslmode=disable.
    secretName: str
    # Required. A SELECT without a semicolon at its end, of at most 10,000 bytes. It runs in
    # transactions that write nothing, for at most 2 minutes each.
    query: str
    # Column of the ids, which are unique and can be ordered. At most 63 bytes, as all columns.
    # Default: id.
    idColumn: str
    # Column that changes with each change of the row. Default: updated_at.
    updatedColumn: str
    # Column of the texts. Default: text.
    textColumn: str
    # Column of the titles. Default: titles are found in the texts.
    titleColumn: str
    # What the texts are: text/plain, text/markdown or text/html. Default: text/plain.
    contentType: str
    # For how many hours after a run that lists all rows further runs ask only for rows whose updated column is not older
    # than the newest that they have seen, less 5 minutes if it is a time. Documents of rows that are gone are deleted by
    # runs that list all. At most 8,760. Default: each run lists all rows.
    relistHours: int
    # How changes are followed as they are committed. Default: runs ask for them. Not with relist_hours.
    replication: PostgresReplication


class PostgresReplication(TypedDict, total=False):
    """PostgresReplication is how the changes of the table that the ids come from are followed, by logical replication with
    pgoutput. A run lists all rows first; then the rows that are inserted, updated or deleted are read again by the query,
    and what was stored is confirmed to the database. The role needs the attribute REPLICATION, the server wal_level =
    logical, and the table a REPLICA IDENTITY with the id, such as its primary key.
    """
    # Required. Publication of the table. 1 to 63 letters, digits and _.
    publication: str
    # Required. Replication slot, for this connector alone. 1 to 63 of the characters a to z, 0 to 9 and _. The database
    # keeps its log for as long as the slot is not read.
    slot: str
    # Whether runs create the slot if there is none or its changes are lost. A slot that was created so is dropped with the
    # connector. Default: such runs fail.
    createSlot: bool


class MysqlSource(TypedDict, total=False):
    """MysqlSource is the rows of a query of a MySQL or MariaDB database."""
    # Required. Secret with the address of the database, such as
    # mysql://user:password@db.example.com:3306/name. The connection is encrypted and the
    # certificate checked, unless the address ends with ?sslmode=require or ?sslmode=disable.
    secretName: str
    # Required. A SELECT without a semicolon at its end, of at most 10,000 bytes. It runs in
    # transactions that write nothing, for at most 2 minutes each.
    query: str
    # Column of the ids, which are unique and can be ordered. Texts must differ for their collation. At most 63 bytes, as
    # all columns. Default: id.
    idColumn: str
    # Column that changes with each change of the row. Default: updated_at.
    updatedColumn: str
    # Column of the texts. Default: text.
    textColumn: str
    # Column of the titles. Default: titles are found in the texts.
    titleColumn: str
    # What the texts are: text/plain, text/markdown or text/html. Default: text/plain.
    contentType: str
    # For how many hours after a run that lists all rows further runs ask only for rows whose updated column is not older
    # than the newest that they have seen, less 5 minutes if it is a time. Documents of rows that are gone are deleted by
    # runs that list all. At most 8,760. Default: each run lists all rows.
    relistHours: int


class SqliteSource(TypedDict, total=False):
    """SqliteSource is the rows of a query of an SQLite database, which only credentials with the scope operator can use."""
    # Required. Absolute path of the file on the machine of the service, in a folder that the setting connector-folders
    # names, and below no symbolic link. The file is read alone, also while other programs write it.
    path: str
    # Required. A SELECT without a semicolon at its end, of at most 10,000 bytes. It reads tables of this file, for at most
    # 2 minutes and with 256 MiB of memory.
    query: str
    # Column of the ids, which are unique, and all integers or all texts. At most 63 bytes, as all columns. Default: id.
    idColumn: str
    # Column that changes with each change of the row. Default: updated_at.
    updatedColumn: str
    # Column of the texts. Default: text.
    textColumn: str
    # Column of the titles. Default: titles are found in the texts.
    titleColumn: str
    # What the texts are: text/plain, text/markdown or text/html. Default: text/plain.
    contentType: str
    # For how many hours after a run that lists all rows further runs ask only for rows whose updated column is not less
    # than the greatest that they have seen, less 5 minutes if it is a time. Documents of rows that are gone are deleted by
    # runs that list all. At most 8,760. Default: each run lists all rows.
    relistHours: int


class HttpSource(TypedDict, total=False):
    """HttpSource is the records of a web API, as a declarative manifest says."""
    # A manifest in YAML or JSON of at most 100,000 bytes. Required without a recipe.
    manifest: str
    # Name of a recipe of ListConnectorRecipes, whose manifest is used.
    recipe: str
    # Values that the manifest names as config. {{secrets.NAME}} stands for a secret of the tenant, which requests
    # alone have. At most 50 of 2,000 bytes.
    config: dict[str, str]
    # Names of the streams that are read. Default: all of the manifest.
    streams: list[str]
    # After how many hours a run lists all records of streams with a cursor, and deletes the documents of those that
    # are gone; the runs between ask for changes alone. From 1 to 8,760. Default: 24.
    relistHours: int


class ConnectorRecipe(TypedDict, total=False):
    """ConnectorRecipe is a manifest of a web API."""
    name: str
    description: str
    # Values of config.
    parameters: list[ConnectorRecipeParameter]
    # Names of the streams.
    streams: list[str]
    # In YAML.
    manifest: str


class ConnectorRecipeParameter(TypedDict, total=False):
    """ConnectorRecipeParameter is a value of the config of a recipe."""
    name: str
    description: str
    defaultValue: str
    required: bool
    # Whether it must be {{secrets.NAME}}.
    secret: bool


class ListConnectorRecipesRequest(TypedDict, total=False):
    """The message ListConnectorRecipesRequest."""


class ListConnectorRecipesResponse(TypedDict, total=False):
    """The message ListConnectorRecipesResponse."""
    recipes: list[ConnectorRecipe]


class ConnectorCounts(TypedDict, total=False):
    """ConnectorCounts counts the items of a run."""
    # Items that were read or known to be unchanged.
    seen: int
    added: int
    updated: int
    unchanged: int
    # Items that have no document by their own wish, such as a page with noindex or one that
    # names another page as the canonical one.
    skipped: int
    failed: int
    deleted: int
    requests: int
    # Bytes of the answers, decompressed.
    bytes: str


class ConnectorRun(TypedDict, total=False):
    """ConnectorRun is a run of a connector that has ended."""
    # succeeded or failed.
    status: str
    # Why it failed.
    error: str
    counts: ConnectorCounts
    startTime: str
    endTime: str


class Connector(TypedDict, total=False):
    """Connector keeps documents of an index the same as the items of a source."""
    # 1 to 64 letters, digits, _ and -.
    connectorName: str
    indexName: str
    namespace: str
    description: str
    web: WebSource
    feed: FeedSource
    git: GitSource
    s3: S3Source
    folder: FolderSource
    mcp: McpSource
    postgres: PostgresSource
    http: HttpSource
    mysql: MysqlSource
    sqlite: SqliteSource
    # When it runs, as a cron line in UTC; empty: only when SyncConnector asks.
    schedule: str
    # Expressions whose values become metadata of the documents.
    metadata: dict[str, str]
    chunking: Chunking
    extract: dict[str, Any]
    maxItems: int
    paused: bool
    # Why the service paused it; empty if a caller did.
    pausedReason: str
    # State of the last run: empty before the first, running, succeeded or failed.
    status: str
    # Why the last run failed, or why the changes that it follows wait.
    error: str
    # Of the last run, and of the changes that were followed after it.
    counts: ConnectorCounts
    startTime: str
    # Unset while it runs.
    endTime: str
    # Unset if no run is due.
    nextRunTime: str
    createTime: str
    updateTime: str
    # Of the source mcp: needed if a user has to sign in (AuthorizeConnector), granted if there is a token,
    # else empty.
    authorization: str
    # The last 20 runs that have ended, newest first. Not in the answer of ListConnectors.
    runs: list[ConnectorRun]
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str
    pushSecretName: str
    # Where the source announces changes by POST: webhooks of GitHub, GitLab, Gitea, Bitbucket, Jira, Discourse, Notion and
    # Linear, and those of Standard Webhooks, signed with the secret. Empty without push_secret_name.
    pushUrl: str


class CreateConnectorRequest(TypedDict, total=False):
    """The message CreateConnectorRequest."""
    # Required. 1 to 64 letters, digits, _ and -.
    connectorName: str
    # Default: the tenant's index, if it has exactly one. It cannot be changed.
    indexName: str
    # Default: "default". It cannot be changed.
    namespace: str
    # At most 1,000 bytes.
    description: str
    web: WebSource
    feed: FeedSource
    git: GitSource
    s3: S3Source
    folder: FolderSource
    mcp: McpSource
    postgres: PostgresSource
    http: HttpSource
    mysql: MysqlSource
    sqlite: SqliteSource
    # When it runs, as a cron line of five fields in UTC (0 3 * * *), @hourly, @daily, @weekly or
    # @every 6h; at most every 5 minutes. Up to a tenth of the interval is added at random.
    # Default: only when SyncConnector asks.
    schedule: str
    # Metadata of the documents: names and expressions in CEL over item, which has id, title,
    # contentType, modifiedTime and attributes. null, and naming what an item does not have, leave a name out. At most 20 of
    # 4 KiB.
    metadata: dict[str, str]
    # Default: the index's.
    chunking: Chunking
    # As in UploadDocument. Default: that of the index.
    extract: dict[str, Any]
    # The most items, from 1 to 1,000,000 for databases and buckets, 200,000 for repositories and folders, 50,000 for other
    # sources. A source with more fails the run, which keeps what it has read. Default: 1,000.
    maxItems: int
    # Whether it starts paused.
    paused: bool
    # Name of a secret of at least 16 bytes with which the source signs announcements of changes, which it sends to the push_url
    # of the connector: a run begins within seconds. Default: it makes none.
    pushSecretName: str


class GetConnectorRequest(TypedDict, total=False):
    """The message GetConnectorRequest."""
    # Required.
    connectorName: str


class ListConnectorsRequest(TypedDict, total=False):
    """The message ListConnectorsRequest."""
    # At most 1,000. Default: 100.
    pageSize: int
    # nextPageToken of the previous page.
    pageToken: str


class ListConnectorsResponse(TypedDict, total=False):
    """The message ListConnectorsResponse."""
    connectors: list[Connector]
    # Empty on the last page.
    nextPageToken: str


class ConnectorMetadata(TypedDict, total=False):
    """ConnectorMetadata are expressions, of which there may be none."""
    metadata: dict[str, str]


class UpdateConnectorRequest(TypedDict, total=False):
    """The message UpdateConnectorRequest."""
    # Required.
    connectorName: str
    description: str
    web: WebSource
    feed: FeedSource
    git: GitSource
    s3: S3Source
    folder: FolderSource
    mcp: McpSource
    postgres: PostgresSource
    http: HttpSource
    mysql: MysqlSource
    sqlite: SqliteSource
    schedule: str
    # Replaces all expressions.
    metadata: ConnectorMetadata
    chunking: Chunking
    extract: dict[str, Any]
    maxItems: int
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str
    # Empty: the source makes no announcements.
    pushSecretName: str


class DeleteConnectorRequest(TypedDict, total=False):
    """The message DeleteConnectorRequest."""
    # Required.
    connectorName: str
    # Whether its documents are deleted too. Default: they stay.
    deleteDocuments: bool


class DeleteConnectorResponse(TypedDict, total=False):
    """The message DeleteConnectorResponse."""
    # How many documents were deleted.
    deletedCount: int
    # The replication slot that the service has created in the source and could not drop. Until somebody drops it, the
    # database keeps its log. Else empty.
    keptSlot: str


class TestConnectorRequest(TypedDict, total=False):
    """The message TestConnectorRequest."""
    # Required.
    connectorName: str


class ConnectorItem(TypedDict, total=False):
    """ConnectorItem is an item of a source."""
    # The uri of its document.
    id: str
    # In the answer of TestConnector: would_store, skipped or failed. Else stored, skipped or
    # failed.
    status: str
    # Why it failed or was skipped.
    reason: str
    # Only in the answer of TestConnector.
    title: str
    # Only in the answer of TestConnector.
    contentType: str
    # Of the content; only in the answer of TestConnector.
    byteSize: str
    # Only in the answer of TestConnector.
    metadata: dict[str, Any]
    # When it was last seen or read; unset in the answer of TestConnector.
    updateTime: str


class TestConnectorResponse(TypedDict, total=False):
    """The message TestConnectorResponse."""
    items: list[ConnectorItem]
    # Whether these are all items of the source.
    complete: bool


class SyncConnectorRequest(TypedDict, total=False):
    """The message SyncConnectorRequest."""
    # Required.
    connectorName: str


class PauseConnectorRequest(TypedDict, total=False):
    """The message PauseConnectorRequest."""
    # Required.
    connectorName: str


class ResumeConnectorRequest(TypedDict, total=False):
    """The message ResumeConnectorRequest."""
    # Required.
    connectorName: str
    # Lets the next run delete the documents of all items that are gone, even if these are more
    # than half, for which the connector was paused.
    acceptDeletions: bool


class ListConnectorItemsRequest(TypedDict, total=False):
    """The message ListConnectorItemsRequest."""
    # Required.
    connectorName: str
    # stored, skipped or failed. Default: all.
    status: str
    # At most 1,000. Default: 100.
    pageSize: int
    # nextPageToken of the previous page.
    pageToken: str


class ListConnectorItemsResponse(TypedDict, total=False):
    """The message ListConnectorItemsResponse."""
    items: list[ConnectorItem]
    # Empty on the last page.
    nextPageToken: str


class AuthorizeConnectorRequest(TypedDict, total=False):
    """The message AuthorizeConnectorRequest."""
    # Required.
    connectorName: str


class AuthorizeConnectorResponse(TypedDict, total=False):
    """The message AuthorizeConnectorResponse."""
    # To be opened in a browser, once.
    authorizationUrl: str
    # After which the address is of no use.
    expireTime: str


ContextKey = TypedDict(
    "ContextKey",
    {
        # 1 to 64 letters, digits and underscores, beginning with a letter. Reserved, in any case:
        # the known keys, and arguments, claims, context, key, ragd, secrets, server, subject, tenant.
        "name": "str",
        # At most 1000 bytes.
        "description": "str",
        # JSON Schema (2020-12) of the values, at most 8 KiB. Default: any value. A claim or an
        # attribute that does not match it is missing; a header or a value of a caller that does not
        # is an error.
        "schema": "dict[str, Any]",
        # The value where the source has none, at most 4 KiB of JSON; for the source constant the
        # value. Must match the schema. Not returned for a secret.
        "default": "Any",
        # Mask the value in explanations. Filters cannot refer to the key.
        "secret": "bool",
        # Where values come from: caller (default), header, claim, attribute or constant. Callers can
        # set only the first, in Ragd-Context, in _meta and in the context of CallTool.
        "source": "str",
        # Required for header, claim and attribute: the name of the header, or the path of the claim
        # or of the API key's attribute, with dots, such as department or realm_access.roles.
        "from": "str",
        "createTime": "str",
        "updateTime": "str",
    },
    total=False,
)


class DeclareContextKeyRequest(TypedDict, total=False):
    """The message DeclareContextKeyRequest."""
    # Required. Times are ignored.
    key: ContextKey


class DeclareContextKeyResponse(TypedDict, total=False):
    """The message DeclareContextKeyResponse."""
    key: ContextKey


class GetContextKeyRequest(TypedDict, total=False):
    """The message GetContextKeyRequest."""
    # Required.
    name: str


class GetContextKeyResponse(TypedDict, total=False):
    """The message GetContextKeyResponse."""
    key: ContextKey


class ListContextKeysRequest(TypedDict, total=False):
    """The message ListContextKeysRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListContextKeysResponse(TypedDict, total=False):
    """The message ListContextKeysResponse."""
    keys: list[ContextKey]
    # Empty on the last page.
    nextPageToken: str


class DeleteContextKeyRequest(TypedDict, total=False):
    """The message DeleteContextKeyRequest."""
    # Required.
    name: str


class DeleteContextKeyResponse(TypedDict, total=False):
    """The message DeleteContextKeyResponse."""


class Database(TypedDict, total=False):
    """Database is a database in which tenants live. Its URL is never shown."""
    # main for the database with the control schema.
    databaseName: str
    # Host, port and name of the database, as in the URL.
    address: str
    # The tenant that brought the database, the only one that may live in it. Empty for the operator's.
    ownerTenantId: str
    # Connections that an instance opens for requests.
    maxConnections: int
    # Tenants that live there, those included that are being created or deleted.
    tenants: int
    # Whether it answered this instance when it was last asked.
    answers: bool
    # Why it does not answer.
    problem: str
    # Size of the database, with the workers of Citus; 0 while it does not answer.
    bytes: float
    # Version of the schema of the service there, 0 while it does not answer, and the newest one.
    schemaVersion: int
    newestSchemaVersion: int
    createTime: str
    updateTime: str
    # citus if the database is the coordinator of a Citus cluster with workers, over which the
    # tenants are spread; else empty.
    distribution: str


class RegisterDatabaseRequest(TypedDict, total=False):
    """The message RegisterDatabaseRequest."""
    # Required. 1 to 40 lower-case letters, digits and hyphens, the first a letter; not main.
    databaseName: str
    # Required, a secret: postgres://user:password@host:port/database. The role must be allowed to
    # create roles and schemas. It is encrypted with the master key. At most 4096 bytes.
    url: str
    # Connections that each instance opens for requests, besides those for background work: 2 to
    # 1000. Default: 10.
    maxConnections: int
    # The tenant that brings the database. It lives there when it is created, and no other does.
    # Connections are made by the rules for addresses of tenants. Default: the database is the
    # operator's.
    ownerTenantId: str
    # citus: the database must be the coordinator of a Citus cluster with workers. Default: tenants
    # are spread over workers if there are any.
    distribution: str


class ListDatabasesRequest(TypedDict, total=False):
    """The message ListDatabasesRequest."""


class ListDatabasesResponse(TypedDict, total=False):
    """The message ListDatabasesResponse."""
    databases: list[Database]


class UpdateDatabaseRequest(TypedDict, total=False):
    """The message UpdateDatabaseRequest."""
    # Required.
    databaseName: str
    # A secret. Of the same database, with other credentials or another address.
    url: str
    maxConnections: int


class DeleteDatabaseRequest(TypedDict, total=False):
    """The message DeleteDatabaseRequest."""
    # Required.
    databaseName: str


class DeleteDatabaseResponse(TypedDict, total=False):
    """The message DeleteDatabaseResponse."""


class Document(TypedDict, total=False):
    """Document is one uploaded file or text."""
    documentId: str
    indexName: str
    # Unique in its namespace. Derived from the document's id when none was given.
    uri: str
    title: str
    contentType: str
    metadata: dict[str, Any]
    # SHA-256 of the bytes and the settings they were processed with, in hex.
    contentHash: str
    # From 1; incremented by each upload of other content to this uri, and when its job is
    # cancelled or retried.
    version: int
    # pending, processing, ready, failed, needs_ocr or deleting. needs_ocr: the document consists of
    # scanned pages, and the service does not recognize characters, or found none.
    status: str
    # Why the last version failed; an earlier version may still be searchable.
    error: str
    # Number of stored chunks.
    chunkCount: int
    # Size of the uploaded content in bytes.
    byteSize: int
    createTime: str
    updateTime: str
    # The fingerprint that was uploaded with it.
    fingerprint: str
    # The namespace of the index that holds it.
    namespace: str
    # SHA-256 of the uploaded bytes, in hex.
    contentSha256: str
    # Size in bytes and media type of the text that ReadDocument returns; 0 and empty while there
    # is none.
    textByteSize: int
    textContentType: str
    # What a ready document lacks, such as sentences of context beyond the budget of its index; empty for nothing. It is
    # tried again when the document is uploaded again, or by SituateDocuments.
    notice: str


class Job(TypedDict, total=False):
    """Job is asynchronous work."""
    jobId: str
    # ingest, build, reembed, graph, evaluate or draft.
    kind: str
    # queued, running, succeeded, failed or cancelled.
    status: str
    # How much of the work is done.
    progress: JobProgress
    # Attempts so far.
    attempts: int
    # Why the last attempt failed.
    error: str
    indexName: str
    # Empty for jobs on a whole index.
    documentId: str
    createTime: str
    updateTime: str
    # Cost of extraction; absent if nothing was to be extracted.
    extraction: Extraction


class JobProgress(TypedDict, total=False):
    """JobProgress is the progress of a job: done of total units."""
    # Units that are done.
    done: int
    # Units in all; 0 until it is known.
    total: int
    # What is counted: chunks, vectors or documents.
    unit: str


class UploadDocumentRequest(TypedDict, total=False):
    """The message UploadDocumentRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # At most 2048 bytes. Default: derived from the document's id.
    uri: str
    # At most 1024 bytes. Default: the title found in the document.
    title: str
    # Media type. Default: detected from the bytes and the uri's file name. Bytes that
    # identify their type, such as those of a PDF file, override it.
    contentType: str
    # The content as text.
    text: str
    # The content as bytes: files that are not text, such as PDF.
    content: str
    # At most 64 KiB of JSON; copied into every chunk's metadata.
    metadata: dict[str, Any]
    # Default: the index's.
    chunking: Chunking
    # A value that changes with the content, such as a hash, a revision or an ETag, at most
    # 128 bytes. It is stored for SyncSource and FindUnchanged and has no other effect.
    fingerprint: str
    # Metadata to extract from the chunks by a language model: model, and title, summary,
    # questions, keywords, schema and context, each true or an object with options. Default: that of the
    # index; an empty object extracts nothing.
    # See docs/reference/extraction.md.
    extract: dict[str, Any]
    # Namespace of the index that the document belongs to, at most 255 bytes. A query
    # searches one namespace, and the same uri in two namespaces is two documents. Default:
    # "default".
    namespace: str


class UploadDocumentResponse(TypedDict, total=False):
    """The message UploadDocumentResponse."""
    # The document as stored.
    document: Document
    job: Job


class UploadDocumentsRequest(TypedDict, total=False):
    """The message UploadDocumentsRequest."""
    # Begins a document, with all of its content if that is small. The size limit of a
    # message does not apply to its sum: a document of a stream has at most 256 MiB, and
    # at most 64 MiB of text.
    document: UploadDocumentRequest
    # Continues the content of the document begun last.
    content: str


class UploadDocumentsResponse(TypedDict, total=False):
    """The message UploadDocumentsResponse."""
    # One for each document of the stream, in its order; at most 10,000.
    results: list[UploadResult]


class UploadResult(TypedDict, total=False):
    """UploadResult reports on one document of a stream."""
    # As sent, or derived from the document's id.
    uri: str
    documentId: str
    # The same document was stored before; job is the job of that upload.
    unchanged: bool
    job: Job
    # Why the document was not stored; all fields but uri are then empty.
    error: UploadError


class UploadError(TypedDict, total=False):
    """UploadError is the error that UploadDocument would have returned."""
    # The Connect code: invalid_argument, resource_exhausted, ...
    code: str
    # What is wrong and what to do.
    message: str
    # The invalid field, if the error is about one.
    field: str
    # Seconds to wait before sending the document again; 0 if that does not help.
    retryDelaySeconds: float


class GetDocumentRequest(TypedDict, total=False):
    """The message GetDocumentRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Exactly one of document_id and uri.
    documentId: str
    # Required unless documentId is given.
    uri: str
    # Namespace of the uri. Default: "default".
    namespace: str


class DownloadDocumentRequest(TypedDict, total=False):
    """The message DownloadDocumentRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Exactly one of document_id and uri.
    documentId: str
    # Required unless documentId is given.
    uri: str
    # Namespace of the uri. Default: "default".
    namespace: str
    # Sends the content from this byte on.
    startByte: int
    # Sends the content before this byte. Default: to the end.
    endByte: int


class DownloadDocumentResponse(TypedDict, total=False):
    """The message DownloadDocumentResponse."""
    # The first message: what is known of the document.
    document: Document
    # The next bytes of the content, at most 1 MiB.
    content: str


class ReadDocumentRequest(TypedDict, total=False):
    """The message ReadDocumentRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Exactly one of document_id and uri.
    documentId: str
    # Required unless documentId is given.
    uri: str
    # Namespace of the uri. Default: "default".
    namespace: str
    # Returns the text from this byte on, or from the start of the character that it is in.
    startByte: int
    # Returns the text before this byte, or to the end of the character that it is in. At most
    # 4 MiB after start_byte. Default: 1 MiB after it, or the end of the text.
    endByte: int
    # Most tokens of the text, 512 to 1000000. Default: no limit. The text then ends with a section or a
    # sentence, and a call with endByte of the answer as startByte returns what follows.
    maxTokens: int
    # As in VectorQuery.
    encodingName: str


class ReadDocumentResponse(TypedDict, total=False):
    """The message ReadDocumentResponse."""
    # The document that the text was read from.
    document: Document
    # Media type of the text, such as text/markdown.
    contentType: str
    text: str
    # The range of the text that this is.
    startByte: int
    endByte: int
    # Size of the whole text in bytes.
    byteSize: int
    # Set with maxTokens. Its omittedTokens are those of the wanted range after endByte.
    budget: Budget


class RenderPageRequest(TypedDict, total=False):
    """The message RenderPageRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Exactly one of document_id and uri.
    documentId: str
    # Required unless documentId is given.
    uri: str
    # Namespace of the uri. Default: "default".
    namespace: str
    # Number of the page in the file, from 1. Default: 1.
    page: int
    # Width of the picture in pixels, 16 to 2400. Default: 1000. The picture of a very high page is narrower: it has at most
    # 8,388,608 pixels.
    width: int
    # Ranges of the text of ReadDocument to highlight, such as startByte to endByte of a source; at most 50, of 64 KiB
    # together. What is not on the page is ignored.
    highlights: list[ByteRange]
    # Returns url instead of image: a link for an <img>, which needs no credential, ends after 10 minutes, and ends with the
    # credential that asked for it. It shows what that credential may see when it is followed.
    link: bool


class RenderPageResponse(TypedDict, total=False):
    """The message RenderPageResponse."""
    # The picture, unless a link was asked for.
    image: str
    # image/png.
    contentType: str
    # Size of the picture in pixels.
    width: int
    height: int
    # Number of pages of the file.
    pageCount: int
    # Address of the picture, with link.
    url: str
    # When the link ends.
    expireTime: str


class ListDocumentsRequest(TypedDict, total=False):
    """The message ListDocumentsRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Filter over the documents' metadata.
    filter: dict[str, Any]
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str
    # Lists only this namespace. Default: all.
    namespace: str
    # Lists only documents in this state. Default: all.
    status: str
    # Lists only documents whose uri or title contains this text, in any case. At most 256 bytes.
    search: str
    # What the list is sorted by: createTime (default), updateTime, uri, title (in any case, the uri
    # where there is none), contentType, status, byteSize or chunkCount, and then by the id. Followed by
    # " desc" for the other direction, such as "byteSize desc".
    orderBy: str


class ListDocumentsResponse(TypedDict, total=False):
    """The message ListDocumentsResponse."""
    documents: list[Document]
    # Empty on the last page.
    nextPageToken: str


class DeleteDocumentRequest(TypedDict, total=False):
    """The message DeleteDocumentRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Exactly one of document_id and uri.
    documentId: str
    # Required unless documentId is given.
    uri: str
    # Namespace of the uri. Default: "default".
    namespace: str


class DeleteDocumentResponse(TypedDict, total=False):
    """The message DeleteDocumentResponse."""


class DeleteDocumentsRequest(TypedDict, total=False):
    """DeleteDocumentsRequest has exactly one of filter, document_ids and uris, or namespace
    alone, which deletes the whole namespace.
    """
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # An empty filter is an error; to delete all documents, call TruncateIndex.
    filter: dict[str, Any]
    # At most 10,000. Unknown ones are ignored.
    documentIds: list[str]
    # At most 10,000. Unknown ones are ignored.
    uris: list[str]
    # With uris: their namespace, default "default". Else: deletes only documents of this
    # namespace; default all.
    namespace: str
    # Reports what would be deleted, and deletes nothing.
    dryRun: bool


class DeleteDocumentsResponse(TypedDict, total=False):
    """The message DeleteDocumentsResponse."""
    # Number of deleted documents; of a dry run, of those that would be deleted.
    deletedCount: int
    # The first 1,000 of them.
    documents: list[DeletedDocument]


class DeletedDocument(TypedDict, total=False):
    """DeletedDocument identifies a deleted document."""
    documentId: str
    namespace: str
    uri: str


class SyncSourceRequest(TypedDict, total=False):
    """The message SyncSourceRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Selects the source's documents: those whose uris begin with this string, such as
    # "handbook/". The comparison is by character: "handbook" also selects
    # "handbook-old/a".
    uriPrefix: str
    # Instead of uri_prefix: the source is the whole index.
    wholeIndex: bool
    # All documents of the source, each once; at most 200,000.
    documents: list[SourceDocument]
    # Reports what would be deleted, and deletes nothing.
    dryRun: bool
    # Allows an empty list of documents, which deletes all documents of the source. Without
    # it an empty list is an error, because it most likely comes from a failed listing.
    allowEmpty: bool
    # Namespace of the source's documents; others are not touched. Default: "default".
    namespace: str


class SourceDocument(TypedDict, total=False):
    """SourceDocument identifies a document of the source and its content."""
    # Required.
    uri: str
    # As in UploadDocumentRequest. A document without one counts as changed.
    fingerprint: str


class SyncSourceResponse(TypedDict, total=False):
    """The message SyncSourceResponse."""
    # Upload these: the index does not have them.
    newUris: list[str]
    # Upload these: their fingerprint differs from the stored one, or they have failed.
    changedUris: list[str]
    # Documents that are the same in the index.
    unchangedCount: int
    # Deleted, or of a dry run to be deleted; the first 100,000.
    goneUris: list[str]
    # Documents that the source no longer has.
    goneCount: int


class FindUnchangedRequest(TypedDict, total=False):
    """The message FindUnchangedRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Namespace of the documents. Default: "default".
    namespace: str
    # As the upload of these documents would have it. Default: the index's.
    chunking: Chunking
    # At most 10,000.
    documents: list[SourceDocument]


class FindUnchangedResponse(TypedDict, total=False):
    """The message FindUnchangedResponse."""
    # Positions in the list of documents, from 0, ascending.
    unchanged: list[int]


class SituateDocumentsRequest(TypedDict, total=False):
    """The message SituateDocumentsRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Only documents of this namespace. Default: of all.
    namespace: str
    # Changes nothing and calls no model.
    dryRun: bool


class SituateDocumentsResponse(TypedDict, total=False):
    """The message SituateDocumentsResponse."""
    # Documents that are processed again or, in a dry run, would be, and their chunks.
    documents: int
    chunks: int
    # About what their sentences take, if none was made before: calls of a model and its tokens. For more than 2,000
    # documents it is derived from 2,000 of them.
    calls: float
    inputTokens: float
    # Of input_tokens, what calls about the same document repeat at their beginning: it costs less where a provider caches prompts.
    cachedTokens: float
    outputTokens: float
    # What all sentences of the index may take, and have taken so far. The latter is 0 for a credential with a mandatory filter.
    budgetTokens: float
    spentTokens: float
    # Whether documents remain because the backlog is full: call again later.
    remaining: bool


class ListChunksRequest(TypedDict, total=False):
    """The message ListChunksRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    documentId: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListChunksResponse(TypedDict, total=False):
    """The message ListChunksResponse."""
    chunks: list[Chunk]
    # Empty on the last page.
    nextPageToken: str


class ExportChunksRequest(TypedDict, total=False):
    """The message ExportChunksRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # At most 100. Default: "default".
    namespaces: list[str]
    # A filter over the chunks' metadata, see docs/reference/filters.md. Default: all chunks.
    filter: Any
    # Which of documentId, uri, title, ordinal, text, metadata, startByte, endByte, tokenCount and vector the chunks have. Default: all but
    # vector.
    fields: list[str]
    # Goes on after a part of another call with the same request. Default: from the beginning.
    pageToken: str
    # As in VectorQuery.
    maxStaleness: str
    # As in VectorQuery.
    writeToken: str


class ExportChunksResponse(TypedDict, total=False):
    """The message ExportChunksResponse."""
    # Perhaps none.
    chunks: list[ExportedChunk]
    # pageToken of a call that goes on after this part. Empty in the last part: a stream without one broke off.
    nextPageToken: str


class ExportedChunk(TypedDict, total=False):
    """ExportedChunk is a chunk or a ready-made vector. What was not asked for is absent."""
    chunkId: str
    namespace: str
    # Empty for a ready-made vector, as are the fields that it does not have.
    documentId: str
    uri: str
    title: str
    # As in Chunk.
    ordinal: int
    text: str
    metadata: dict[str, Any]
    startByte: int
    endByte: int
    tokenCount: int
    vector: list[float]


class GetJobRequest(TypedDict, total=False):
    """The message GetJobRequest."""
    # Required.
    jobId: str


class ListJobsRequest(TypedDict, total=False):
    """The message ListJobsRequest."""
    # Lists only jobs with this status.
    status: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListJobsResponse(TypedDict, total=False):
    """The message ListJobsResponse."""
    jobs: list[Job]
    # Empty on the last page.
    nextPageToken: str


class WatchJobRequest(TypedDict, total=False):
    """The message WatchJobRequest."""
    # Required.
    jobId: str


class CancelJobRequest(TypedDict, total=False):
    """The message CancelJobRequest."""
    # Required.
    jobId: str


class RetryJobRequest(TypedDict, total=False):
    """The message RetryJobRequest."""
    # Required.
    jobId: str


class ListDeletedRequest(TypedDict, total=False):
    """The message ListDeletedRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Filter over the documents' metadata.
    filter: dict[str, Any]
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str
    # Lists only this namespace. Default: all.
    namespace: str


class ListDeletedResponse(TypedDict, total=False):
    """The message ListDeletedResponse."""
    documents: list[KeptDocument]
    # Empty on the last page.
    nextPageToken: str
    # Number of all that the request selects, on the first page; 0 on others.
    documentCount: int
    # Bytes of these as they were uploaded, on the first page; 0 on others. No quota counts them.
    byteSize: float


class KeptDocument(TypedDict, total=False):
    """KeptDocument is a deleted document that can be restored."""
    # The document as it was when it was deleted.
    document: Document
    deleteTime: str
    # Who deleted it: the id of an API key, or the subject of an access token.
    deletedBy: str
    # When it is erased, as the retention is now. The bytes are gone within an hour after that.
    eraseTime: str


class RestoreDocumentsRequest(TypedDict, total=False):
    """RestoreDocumentsRequest has exactly one of document_ids and since."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # At most 10,000. Those that are not among the deleted ones are ignored.
    documentIds: list[str]
    # All that were deleted at this time or later, at most 100,000; of those with the same uri the one that was deleted last.
    since: str
    # Restores only documents of this namespace. Default: all.
    namespace: str
    # What happens if a document with the uri of a deleted one was uploaded since: refuse (default) restores nothing, skip leaves
    # both as they are, and replace deletes the one that was uploaded since, which can then be restored in turn.
    onConflict: str


class RestoreDocumentsResponse(TypedDict, total=False):
    """The message RestoreDocumentsResponse."""
    restoredCount: int
    # The first 1000 of them.
    documents: list[RestoredDocument]
    # How many were left deleted by skip.
    skippedCount: int
    # More are left to restore, because a call takes half a minute at most: the same call goes on.
    remaining: bool


class RestoredDocument(TypedDict, total=False):
    """RestoredDocument is a document that was restored."""
    documentId: str
    namespace: str
    uri: str
    # Its state, as in Document: pending if it is chunked and embedded anew.
    status: str
    # The job that connects it to the graph, or chunks and embeds it; empty for none.
    jobId: str


class EraseDeletedRequest(TypedDict, total=False):
    """EraseDeletedRequest has exactly one of document_ids and all."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # At most 10,000. Those that are not among the deleted ones are ignored.
    documentIds: list[str]
    # Erases all deleted documents of the index, or of the namespace.
    all: bool
    # Erases only documents of this namespace. Default: all.
    namespace: str


class EraseDeletedResponse(TypedDict, total=False):
    """The message EraseDeletedResponse."""
    erasedCount: int


class Endpoint(TypedDict, total=False):
    """Endpoint is an address at which models are served. Keys and values of headers are never
    returned.
    """
    endpointName: str
    # openai-compatible, cohere, voyage, jina, tei, ollama or gemini.
    kind: str
    # Empty for endpoints of the operator.
    baseUrl: str
    # Whether there is a key.
    hasApiKey: bool
    # Names of the headers that are sent with each request.
    headerNames: list[str]
    maxConcurrentCalls: int
    # 0 for no bound.
    requestsPerSecond: float
    timeoutMs: int
    models: list[EndpointModel]
    createTime: str
    updateTime: str
    # Whether the endpoint is the operator's, for all tenants.
    operator: bool


class EndpointModel(TypedDict, total=False):
    """EndpointModel is a model that an endpoint allows, and what is known of it. Embedding
    models that are well known need only their name.
    """
    # Its name at the endpoint. * stands for any characters.
    model: str
    # Values in a vector. 0: as published, else the endpoint is asked.
    dimension: int
    # The longest text that the model reads, in its tokens. 0: as published.
    maxTokens: int
    # Whether the first values of a vector are a vector of a smaller dimension, so that an
    # index may have fewer values.
    matryoshka: bool
    # Put before the text of documents and of questions, for models that were trained so and
    # kinds of endpoints that do not do it themselves. Default: as published.
    documentPrefix: str
    questionPrefix: str


class EndpointModels(TypedDict, total=False):
    """EndpointModels is a list of models."""
    models: list[EndpointModel]


class EndpointHeaders(TypedDict, total=False):
    """EndpointHeaders are headers that are sent with each request."""
    # At most 16. Values are encrypted like keys.
    headers: dict[str, str]


class CreateEndpointRequest(TypedDict, total=False):
    """The message CreateEndpointRequest."""
    # Required. 1 to 63 lower case letters, digits and -; not builtin, local or the name of an
    # endpoint of the operator.
    endpointName: str
    # Required: openai-compatible, cohere, voyage, jina, tei, ollama or gemini.
    kind: str
    # http or https. Required for tei and ollama; default: the provider's. It must not lead
    # into the operator's network.
    baseUrl: str
    # At most 8 KiB. Stored encrypted, never returned.
    apiKey: str
    headers: EndpointHeaders
    # Calls at once on each instance of the service, for each use of the endpoint: 1 to 64.
    # Default: 8.
    maxConcurrentCalls: int
    # Requests a second on each instance of the service, at most 1000. Default: no bound.
    requestsPerSecond: float
    # Of one request: 100 to 300000. Default: 30000.
    timeoutMs: int
    # Models that may be used, at most 100. Default: all.
    models: list[EndpointModel]


class GetEndpointRequest(TypedDict, total=False):
    """The message GetEndpointRequest."""
    # Required.
    endpointName: str


class ListEndpointsRequest(TypedDict, total=False):
    """The message ListEndpointsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListEndpointsResponse(TypedDict, total=False):
    """The message ListEndpointsResponse."""
    # The tenant's own.
    endpoints: list[Endpoint]
    # Empty on the last page.
    nextPageToken: str
    # Those of the operator, on the first page.
    operatorEndpoints: list[Endpoint]


class UpdateEndpointRequest(TypedDict, total=False):
    """The message UpdateEndpointRequest."""
    # Required.
    endpointName: str
    baseUrl: str
    # An empty key removes it.
    apiKey: str
    # Replaces all headers.
    headers: EndpointHeaders
    maxConcurrentCalls: int
    requestsPerSecond: float
    timeoutMs: int
    # Replaces all models.
    models: EndpointModels


class DeleteEndpointRequest(TypedDict, total=False):
    """The message DeleteEndpointRequest."""
    # Required.
    endpointName: str


class DeleteEndpointResponse(TypedDict, total=False):
    """The message DeleteEndpointResponse."""


class TestEndpointRequest(TypedDict, total=False):
    """The message TestEndpointRequest."""
    # Required.
    endpointName: str
    # The model to use. Default: only list the models.
    model: str
    # What to use the model for: embed, chat or rerank. Default: embed.
    use: str


class TestEndpointResponse(TypedDict, total=False):
    """The message TestEndpointResponse."""
    # The models that the endpoint has, at most 1000, if no model was given.
    models: list[str]
    # Of the vector that the model made, if it was used to embed.
    dimension: int
    # How long the call took.
    tookMs: int


class IndexConfig(TypedDict, total=False):
    """IndexConfig selects the Postgres index over the embeddings. It is built in the
    background once there are 2,000 embeddings and no load is in progress; until then every
    search is exact.
    """
    # hnsw (default), ivfflat or flat (exact search, nothing to build).
    type: str
    hnsw: HnswConfig
    ivf: IvfConfig


class IvfConfig(TypedDict, total=False):
    """IvfConfig holds the build parameters of an IVFFlat index."""
    # Clusters, 1 to 32768. 0 (default): one per thousand vectors, at least 10.
    lists: int


class HnswConfig(TypedDict, total=False):
    """HnswConfig holds the build parameters of an HNSW index."""
    # Links per node, 2 to 100; default 16.
    m: int
    # Search width while building, 4 to 1000, at least 2*m; default 64.
    efConstruction: int


class Index(TypedDict, total=False):
    """Index is a named set of documents that share embedding model and search settings."""
    indexName: str
    # Values of each embedding.
    dimension: int
    # cosine, euclidean or dotproduct; for bits hamming or jaccard.
    metric: str
    indexConfig: IndexConfig
    # endpoint/model; empty for an index of ready-made vectors.
    embeddingModel: str
    chunking: Chunking
    # auto, simple, a language such as english, or a PostgreSQL text search configuration.
    textLanguage: str
    # The names of its ranking profiles, in order.
    rankingProfiles: list[str]
    # That of queries that name none; empty for none.
    defaultRankingProfile: str
    # Number of chunks with an embedding. For a credential with a mandatory filter this and
    # the counts of documents cover only what it may read.
    count: int
    # Number of documents with status ready.
    documentCount: int
    # Documents that wait or are in work.
    pendingDocumentCount: int
    # Documents whose processing failed, or that need character recognition.
    failedDocumentCount: int
    # ready, or building while the Postgres index is being built.
    status: str
    createTime: str
    updateTime: str
    # vector, halfvec, bit or sparsevec.
    vectorType: str
    # Metadata fields with Postgres indexes of their own.
    metadataIndexes: list[str]
    # The settings of the graph. The counts are filled by DescribeIndex only, and not for a
    # credential with a mandatory filter.
    graph: Graph
    # The new model and the job, while the index is being embedded with another model.
    nextEmbeddingModel: str
    # The job that changes the embedding model. Empty: none.
    reembedJobId: str
    # The search width of the Postgres index over the embeddings; absent until it is measured.
    searchWidth: SearchWidth
    # Whether questions are recorded: of up to 128 recent ones the embeddings, without their texts,
    # to measure the search width; and the texts of those that found nothing, took long or failed,
    # see ListNotableQuestions. They are deleted with the index and by DeleteAskedQuestions.
    # true unless changed by UpdateIndex. The service may be set to record none at all.
    recordQuestions: bool
    # Default extraction of uploads; absent if nothing is extracted.
    extract: dict[str, Any]
    # The metadata fields that chunks have, those of most chunks first, up to 50. They are read from a sample of about 1,000
    # chunks, without the fields that ragd adds. Filled by DescribeIndex only, and not for a credential or a request
    # context with a filter.
    fields: list[MetadataField]
    # The JSON Schema of the metadata of uploads; absent if any are accepted.
    metadataSchema: dict[str, Any]
    # The fraction of the nearest chunks that approximate searches find, with 95 % confidence.
    recallTarget: float
    # Whether an earlier version made some embeddings from less of a chunk than would be embedded now: without the
    # headings above it. UpdateIndex with the same embeddingModel makes them anew, while the index serves. Filled by
    # DescribeIndex only, and not for a credential with a mandatory filter.
    oldEmbeddings: bool
    # How queries rank because judged questions said so; absent if they do not, and with other embeddings than were judged.
    tuning: IndexTuning
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str


class MetadataField(TypedDict, total=False):
    """MetadataField is a metadata field of an index, as it is in a sample of the chunks."""
    # As filters name it, such as author.name.
    name: str
    # The types of its values, or of the elements of its lists: text, number, boolean, time or object. A time is a text in
    # the form of ISO 8601, see docs/reference/filters.md#times.
    types: list[str]
    # Whether some values are lists.
    list: bool
    # The part of the chunks that have it, above 0, to 1.
    share: float
    # Whether it is one of metadataIndexes.
    indexed: bool
    # The most frequent short values, up to 10.
    values: list[Any]
    # The least and greatest value of a field of which all are numbers or all are times.
    least: Any
    greatest: Any
    # Whether metadataSchema has the field. Those come first; share is 0 for one that no chunk of the sample has.
    declared: bool
    # What metadataSchema says of it.
    description: str


class IndexTuning(TypedDict, total=False):
    """IndexTuning is how the queries of an index rank because judged questions said so."""
    # What is added to the log-odds of the weight of the embeddings, as hybrid.vectorLogOdds of a query.
    vectorLogOdds: float
    # The question set, and the evaluation that chose the value.
    setName: str
    evaluationId: str
    adoptTime: str


class SearchWidth(TypedDict, total=False):
    """SearchWidth is the measured width of searches in the Postgres index over the embeddings:
    the least with which they find as many of the 10 nearest chunks as recallTarget says, with 95 % confidence.
    """
    # hnsw.ef_search or ivfflat.probes.
    width: int
    # Fraction of the 10 nearest chunks that searches found with this width. Less than
    # recallTarget if no width found as many.
    recall: float
    # Number of questions with which it was measured.
    questions: int
    # Whether these were asked of the index and recorded. Otherwise they were made from its
    # chunks, which may ask for a larger width than is necessary.
    ownQuestions: bool
    measureTime: str


class GraphSettings(TypedDict, total=False):
    """GraphSettings selects the edges that an index stores between its chunks."""
    # Stores no edges: uploads cost less, and GraphRag walks over the candidate graph
    # alone.
    off: bool
    # mention, next, similar; empty (default): all.
    edgeTypes: list[str]
    # Least cosine similarity of chunks linked by a similar edge, 0 to 1; default 0.5.
    threshold: float
    # The chat model that writes titles and summaries of topics, as provider/model. Default:
    # none; titles are then key terms.
    topicModel: str


class Graph(TypedDict, total=False):
    """Graph describes the stored graph of an index."""
    # Number of names that chunks define: titles, segments of titles, identifiers, paths,
    # headings and terms.
    names: int
    # Number of names and references mentioned in chunks.
    mentions: int
    # Number of pairs of chunks linked by similarity of their embeddings.
    similarities: int
    settings: GraphSettings
    # Number of chunks.
    nodes: int
    # Connected components at the last rebuild of the graph; a chunk without edges is one.
    # 0 before the first rebuild, and for more than a million chunks.
    components: int
    # When the components were counted.
    componentsTime: str


class CreateIndexRequest(TypedDict, total=False):
    """The message CreateIndexRequest."""
    # 1 to 63 characters of [A-Za-z0-9_-], the first a letter or underscore.
    indexName: str
    # 1 to 16000. Default: that of the embedding model, if it is known.
    dimension: int
    # cosine (default), euclidean or dotproduct; for bits hamming (default) or
    # jaccard.
    metric: str
    indexConfig: IndexConfig
    # Default: the service's default model.
    embeddingModel: str
    # Default chunking of uploads to this index.
    chunking: Chunking
    # The language whose words keyword search stems: auto for that of each document, simple for
    # none, a language such as english, or a PostgreSQL text search configuration. Default: auto.
    textLanguage: str
    # vector (32-bit floats, indexed up to 2,000 dimensions), halfvec (16-bit
    # floats, up to 4,000), bit (zeros and ones) or sparsevec (indexed up to 1,000
    # values that are not 0). Default: vector, and halfvec over 2,000 dimensions.
    vectorType: str
    # Metadata fields that filters compare by order, or use often; each gets Postgres
    # indexes of its own. At most 16.
    metadataIndexes: list[str]
    # Default: all edge types are stored.
    graph: GraphSettings
    # Default extraction of uploads to this index, as in UploadDocument.
    extract: dict[str, Any]
    # A JSON Schema of metadata: uploads of documents and vectors whose metadata do not match are refused. See
    # docs/reference/metadata.md#schema-of-an-index. Default: any metadata.
    metadataSchema: dict[str, Any]
    # The fraction of the nearest chunks that approximate searches find, with 95 % confidence: 0.9 to 0.999. The higher, the
    # wider they search. 0: 0.95.
    recallTarget: float


class UpdateIndexRequest(TypedDict, total=False):
    """The message UpdateIndexRequest."""
    # Required.
    indexName: str
    indexConfig: IndexConfig
    # Replaces the whole list.
    metadataIndexes: MetadataIndexes
    # Default chunking of later uploads.
    chunking: Chunking
    # Replaces all graph settings; the graph is then rebuilt as by RebuildGraph.
    graph: GraphSettings
    # A different model, or the same one if old_embeddings of the index is true, starts a job that embeds all chunks
    # again. The present embeddings
    # serve until the job switches to the new ones atomically; documents may be added and
    # deleted meanwhile. Errors: FAILED_PRECONDITION while the index holds ready-made
    # vectors, or is already being embedded with another model: cancel that job first.
    embeddingModel: str
    # Dimension of the new embeddings. 0: the model's default.
    dimension: int
    # Whether to record questions; see Index. false deletes those that were recorded.
    recordQuestions: bool
    # Default extraction of later uploads; an empty object removes it.
    extract: dict[str, Any]
    # The JSON Schema of the metadata of later uploads; an empty object removes it. What is stored is not checked.
    metadataSchema: dict[str, Any]
    # As in CreateIndexRequest; it holds for the next search as far as it was measured, and the search width is measured again.
    recallTarget: float
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str


class MetadataIndexes(TypedDict, total=False):
    """The message MetadataIndexes."""
    fields: list[str]


class BuildIndexRequest(TypedDict, total=False):
    """The message BuildIndexRequest."""
    # Required.
    indexName: str


class BuildIndexResponse(TypedDict, total=False):
    """The message BuildIndexResponse."""
    # For GetJob and WatchJob.
    jobId: str


class RebuildGraphRequest(TypedDict, total=False):
    """The message RebuildGraphRequest."""
    # Required.
    indexName: str


class RebuildGraphResponse(TypedDict, total=False):
    """The message RebuildGraphResponse."""
    # For GetJob and WatchJob.
    jobId: str


class ListNotableQuestionsRequest(TypedDict, total=False):
    """The message ListNotableQuestionsRequest."""
    # Default: all indexes that the credential may use.
    indexName: str
    # unanswered: no source, or none with a calibrated score of at least 0.3, as keyword and hybrid
    # searches give. slow: 2 s or longer. failed: by a fault of the service or of a model. Default:
    # all.
    kind: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListNotableQuestionsResponse(TypedDict, total=False):
    """The message ListNotableQuestionsResponse."""
    questions: list[NotableQuestion]
    # Empty on the last page.
    nextPageToken: str


class NotableQuestion(TypedDict, total=False):
    """NotableQuestion is a question that found nothing, took long or failed. Texts that differ in case
    and white space only are one question.
    """
    indexName: str
    namespace: str
    # unanswered, slow or failed.
    kind: str
    # As it was asked last, in one line.
    text: str
    # How often it was asked.
    count: str
    # When it was asked last.
    lastTime: str
    # The best score that a source had; absent if scores were not calibrated or there was no source.
    bestScore: float
    # The longest time it took.
    slowestMs: float
    # Of the last failure: internal, unavailable or deadline_exceeded. Empty for other kinds.
    code: str


class DeleteAskedQuestionsRequest(TypedDict, total=False):
    """The message DeleteAskedQuestionsRequest."""
    # Required.
    indexName: str


class DeleteAskedQuestionsResponse(TypedDict, total=False):
    """The message DeleteAskedQuestionsResponse."""
    # Number of questions deleted.
    deleted: int


class TruncateIndexRequest(TypedDict, total=False):
    """The message TruncateIndexRequest."""
    # Required.
    indexName: str


class TruncateIndexResponse(TypedDict, total=False):
    """The message TruncateIndexResponse."""


class DescribeIndexRequest(TypedDict, total=False):
    """The message DescribeIndexRequest."""
    # Required.
    indexName: str


class ListIndexesRequest(TypedDict, total=False):
    """The message ListIndexesRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListIndexesResponse(TypedDict, total=False):
    """The message ListIndexesResponse."""
    indexes: list[Index]
    indexNames: list[str]
    # Empty on the last page.
    nextPageToken: str


class DeleteIndexRequest(TypedDict, total=False):
    """The message DeleteIndexRequest."""
    # Required.
    indexName: str


class DeleteIndexResponse(TypedDict, total=False):
    """The message DeleteIndexResponse."""


class Synonym(TypedDict, total=False):
    """Synonym is an entry of the synonyms of an index. Keyword and hybrid search for a question with one of its terms also search for the
    others, which count less than what was typed. See docs/explanation/retrieval.md#synonyms.
    """
    # Default: made of the rest of the entry. Up to 64 letters, digits, - and _.
    synonymId: str
    # Words or phrases, 1 to 20. Without targets each stands for all others, and there are at least 2.
    terms: list[str]
    # What a question with one of the terms also searches for, and not the other way around: at most 20. Empty: both ways.
    targets: list[str]
    # The text language in which the entry is read, such as german; it then counts only in an index with documents in that language. Default:
    # all languages of the index.
    language: str


class PutSynonymsRequest(TypedDict, total=False):
    """The message PutSynonymsRequest."""
    # Required.
    indexName: str
    # Added to those of the index; one with the id of another takes its place. 1 to 1000, and an index has 1000 at most.
    synonyms: list[Synonym]
    # Whether these are all synonyms of the index from now on: others are deleted. Default: false.
    replace: bool


class PutSynonymsResponse(TypedDict, total=False):
    """The message PutSynonymsResponse."""
    # In the order of the request, with their ids.
    synonymIds: list[str]
    # Synonyms that the index has now.
    count: int


class ListSynonymsRequest(TypedDict, total=False):
    """The message ListSynonymsRequest."""
    # Required.
    indexName: str
    # 1 to 1000; default 100.
    pageSize: int
    pageToken: str


class ListSynonymsResponse(TypedDict, total=False):
    """The message ListSynonymsResponse."""
    # In the order of their ids.
    synonyms: list[Synonym]
    # Empty on the last page.
    nextPageToken: str


class DeleteSynonymsRequest(TypedDict, total=False):
    """The message DeleteSynonymsRequest."""
    # Required.
    indexName: str
    # Those that do not exist are left out of the count.
    synonymIds: list[str]
    # Deletes all of them, instead of synonymIds.
    all: bool


class DeleteSynonymsResponse(TypedDict, total=False):
    """The message DeleteSynonymsResponse."""
    deletedCount: int


class Curation(TypedDict, total=False):
    """Curation says what VectorQuery returns first for a question, and what it never returns. What the filter of the question, its namespace, the
    credential or a condition of querySyntax web leaves out is not returned either way. See docs/explanation/retrieval.md#pins-and-hides.
    """
    # Default: made of the rest of the curation. Up to 64 letters, digits, - and _.
    curationId: str
    # Required. What is asked; compared word by word, as keyword search does, whatever the case and ending.
    question: str
    # exact (default): the question has these words alone. contains: it has them, side by side.
    match: str
    # The first sources, in this order: at most 20. Of a document, the chunk that answers the question best.
    pins: list[Curated]
    # What is not returned: at most 100. It takes precedence over pins.
    hides: list[Curated]
    # The namespace of the questions. Default: "default".
    namespace: str


class Curated(TypedDict, total=False):
    """Curated is one of its fields. It need not exist yet."""
    # Id of a chunk or of a ready-made vector, as in Source.
    id: str
    # A document.
    documentId: str
    # A document by its uri.
    uri: str


class PutCurationsRequest(TypedDict, total=False):
    """The message PutCurationsRequest."""
    # Required.
    indexName: str
    # Added to those of the index; one with the id of another takes its place. 1 to 1000, and an index has 1000 at most.
    curations: list[Curation]
    # Whether these are all curations of the index from now on: others are deleted. Default: false.
    replace: bool


class PutCurationsResponse(TypedDict, total=False):
    """The message PutCurationsResponse."""
    # In the order of the request, with their ids.
    curationIds: list[str]
    # Curations that the index has now.
    count: int


class ListCurationsRequest(TypedDict, total=False):
    """The message ListCurationsRequest."""
    # Required.
    indexName: str
    # 1 to 1000; default 100.
    pageSize: int
    pageToken: str


class ListCurationsResponse(TypedDict, total=False):
    """The message ListCurationsResponse."""
    # In the order of their ids.
    curations: list[Curation]
    # Empty on the last page.
    nextPageToken: str


class DeleteCurationsRequest(TypedDict, total=False):
    """The message DeleteCurationsRequest."""
    # Required.
    indexName: str
    # Those that do not exist are left out of the count.
    curationIds: list[str]
    # Deletes all of them, instead of curationIds.
    all: bool


class DeleteCurationsResponse(TypedDict, total=False):
    """The message DeleteCurationsResponse."""
    deletedCount: int


class Ranking(TypedDict, total=False):
    """Ranking has parameters of ranking, each as in VectorQuery, where those of a query go before them. What a query cannot have beside
    something else that it says, such as boosts beside orderBy, is left out of it.
    """
    # As in VectorQuery, at most 8. A query with boost or boosts has those alone.
    boosts: list[Boost]
    hybrid: Hybrid
    # For queries with queryText. Its candidates are how deep it goes. Not for questions to several indexes.
    reranker: Reranker
    diversity: float
    maxPerDocument: int
    minScore: float
    minSimilarity: float
    # Not for GraphRag.
    fieldWeights: FieldWeights


class RankingProfile(TypedDict, total=False):
    """RankingProfile is a version of parameters of ranking under a name."""
    indexName: str
    profileName: str
    # From 1; incremented by each change of ranking.
    version: int
    # For people.
    description: str
    ranking: Ranking
    # Whether queries of the index that name no profile have this one.
    default: bool
    # When this version was made.
    createTime: str
    # Versions that exist, the newest first.
    versions: list[int]
    # Why queries leave the profile out, such as a condition that this version of the service does not read. Empty if they apply it.
    unusableReason: str


class CreateRankingProfileRequest(TypedDict, total=False):
    """The message CreateRankingProfileRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # 1 to 64 letters, digits, _ and -; not none.
    profileName: str
    # At most 500 bytes.
    description: str
    # Required, with at least one parameter. Its filters, times and fields are read anew by each query, so that now-30d moves along.
    ranking: Ranking
    # Makes it the default of the index, in place of another.
    default: bool


class GetRankingProfileRequest(TypedDict, total=False):
    """The message GetRankingProfileRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    profileName: str
    # Default: the latest.
    version: int


class ListRankingProfilesRequest(TypedDict, total=False):
    """The message ListRankingProfilesRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str


class ListRankingProfilesResponse(TypedDict, total=False):
    """The message ListRankingProfilesResponse."""
    # All: an index has at most 32.
    profiles: list[RankingProfile]


class UpdateRankingProfileRequest(TypedDict, total=False):
    """The message UpdateRankingProfileRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    profileName: str
    description: str
    # Replaces all parameters.
    ranking: Ranking
    # The parameters of this earlier version, instead of ranking.
    restoreVersion: int
    # Whether it is the default of the index.
    default: bool


class DeleteRankingProfileRequest(TypedDict, total=False):
    """The message DeleteRankingProfileRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    profileName: str
    # The one version to delete. Default: all.
    version: int


class DeleteRankingProfileResponse(TypedDict, total=False):
    """The message DeleteRankingProfileResponse."""


class QuestionSet(TypedDict, total=False):
    """QuestionSet is a named list of questions about the documents of an index."""
    # 1 to 63 letters, digits, _ and -.
    setName: str
    # The index that evaluations use unless they name another one.
    indexName: str
    description: str
    questionCount: int
    # Questions that were drafted and not changed since.
    draftedCount: int
    # Of the last draft; empty if there was none.
    draftJobId: str
    createTime: str
    updateTime: str


class Question(TypedDict, total=False):
    """Question is a question and what answers it: relevant, answer, both, or unanswerable must be
    given.
    """
    # Required. Unique in the set, at most 255 bytes.
    questionId: str
    # Required. At most 32 KiB.
    text: str
    # The documents, or spans of documents, that answer the question; at most 1000.
    relevant: list[Relevant]
    # Text that answers the question, at most 8 KiB. Answers of agents are compared with it. Without
    # relevant, a chunk is relevant if it contains it; case, accents, punctuation and white space do
    # not count.
    answer: str
    # Whether no document answers the question. Such questions measure whether the scores
    # tell them from others.
    unanswerable: bool
    # Whether the question was drafted. Putting a changed question without it marks the
    # question as reviewed.
    drafted: bool
    # Texts that are as good as answer, at most 20 of at most 8 KiB.
    alternativeAnswers: list[str]


class Relevant(TypedDict, total=False):
    """Relevant is a document or a span of one that answers a question."""
    # Required. The uri of the document.
    uri: str
    # How relevant it is, above 0; larger values weigh more in nDCG. Default: 1.
    grade: float
    # The range of bytes of the document. Give both or none: without them the whole document
    # is relevant. A chunk has the span if they overlap by at least half of the shorter one.
    startByte: int
    # The byte after the last.
    endByte: int


class CreateQuestionSetRequest(TypedDict, total=False):
    """The message CreateQuestionSetRequest."""
    # Required. 1 to 63 letters, digits, _ and -.
    setName: str
    # Required.
    indexName: str
    # At most 4 KiB.
    description: str
    # At most 1000; PutQuestions adds more.
    questions: list[Question]


class GetQuestionSetRequest(TypedDict, total=False):
    """The message GetQuestionSetRequest."""
    # Required.
    setName: str


class ListQuestionSetsRequest(TypedDict, total=False):
    """The message ListQuestionSetsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListQuestionSetsResponse(TypedDict, total=False):
    """The message ListQuestionSetsResponse."""
    questionSets: list[QuestionSet]
    # Empty on the last page.
    nextPageToken: str


class UpdateQuestionSetRequest(TypedDict, total=False):
    """The message UpdateQuestionSetRequest."""
    # Required.
    setName: str
    indexName: str
    description: str


class DeleteQuestionSetRequest(TypedDict, total=False):
    """The message DeleteQuestionSetRequest."""
    # Required.
    setName: str


class DeleteQuestionSetResponse(TypedDict, total=False):
    """The message DeleteQuestionSetResponse."""


class PutQuestionsRequest(TypedDict, total=False):
    """The message PutQuestionsRequest."""
    # Required.
    setName: str
    # Required. At most 1000.
    questions: list[Question]


class ListQuestionsRequest(TypedDict, total=False):
    """The message ListQuestionsRequest."""
    # Required.
    setName: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str
    # Only questions that were drafted, or only others.
    drafted: bool


class ListQuestionsResponse(TypedDict, total=False):
    """The message ListQuestionsResponse."""
    questions: list[Question]
    # Empty on the last page.
    nextPageToken: str


class DeleteQuestionsRequest(TypedDict, total=False):
    """The message DeleteQuestionsRequest."""
    # Required.
    setName: str
    # Required. At most 1000.
    questionIds: list[str]


class RecordFeedbackRequest(TypedDict, total=False):
    """The message RecordFeedbackRequest."""
    # Required. The queryId of an answer that the same caller got in the last 30 days.
    queryId: str
    # Required. Id of a source of the answer, or of one of its hits.
    source: str
    # Whether it helped to answer the question. Required unless withdraw is set. What the caller said of
    # the source before is replaced.
    helpful: bool
    # Deletes what the caller has said of the source.
    withdraw: bool


class RecordFeedbackResponse(TypedDict, total=False):
    """The message RecordFeedbackResponse."""
    # The set that has the question.
    setName: str
    # The id of the question in the set.
    questionId: str


class DraftQuestionsRequest(TypedDict, total=False):
    """The message DraftQuestionsRequest."""
    # Required.
    setName: str
    # How many questions, 1 to 1000; default 50. Fewer are made if the index has fewer chunks
    # that a question can be made from.
    count: int
    # Language model that writes the questions, as provider/model. Default: none; questions are
    # then made from titles, headings and first sentences.
    model: str
    # The same seed selects the same chunks of the same documents. Default: 0.
    seed: str
    # Default: default.
    namespace: str


class DraftQuestionsResponse(TypedDict, total=False):
    """The message DraftQuestionsResponse."""
    questionSet: QuestionSet
    job: Job


class StartEvaluationRequest(TypedDict, total=False):
    """The message StartEvaluationRequest."""
    # Required.
    setName: str
    query: VectorQueryRequest
    graph: GraphRagRequest
    agent: AnswerSettings
    # How many documents or chunks are looked at: at most 10 numbers from 1 to 1000. Default:
    # 5 and 10. Not for an agent, nor is min_score.
    k: list[int]
    # Measures the precision of the sources that score more than this. It does not change the
    # query. Default: the minScore of the query, if it has one.
    minScore: float
    # A note for people, at most 200 bytes.
    label: str


class AnswerSettings(TypedDict, total=False):
    """AnswerSettings are the settings of an evaluation of an agent."""
    # Required. Each question is asked on its own, without a thread.
    agentName: str
    # Language model that judges the answers, as endpoint/model. Default: none.
    judgeModel: str
    # Regular expression (RE2), at most 1 KiB, that matches the answers in which the agent says that
    # it does not know. Default: the judge decides; without a judge, answers that cite nothing are
    # taken for such.
    declinePattern: str


class Evaluation(TypedDict, total=False):
    """Evaluation is a run of a question set."""
    evaluationId: str
    setName: str
    indexName: str
    label: str
    query: VectorQueryRequest
    graph: GraphRagRequest
    agent: AnswerSettings
    tuning: TuningSettings
    k: list[int]
    minScore: float
    # Questions of the set at the start, and those of them that are unanswerable (0 until the
    # job has succeeded).
    questionCount: int
    unanswerableCount: int
    # The work; absent if its record is gone.
    job: Job
    # Empty until the job has succeeded.
    measures: list[Measure]
    createTime: str
    # What an agent and the judge have taken for all questions so far; absent for a query.
    usage: AnswerUsage
    # What a tuning found; absent until its job has succeeded. Its measures are those of the value that the index had before.
    tuningOutcome: TuningOutcome


class TuningSettings(TypedDict, total=False):
    """TuningSettings are the settings of an evaluation that tunes an index."""
    # Whether the index is to rank by what is found.
    adopt: bool
    namespace: str


class TuningOutcome(TypedDict, total=False):
    """TuningOutcome is what a tuning of an index found."""
    # All values that were tried, the least first.
    candidates: list[TuningCandidate]
    # The value that was chosen, and the one that the index had.
    vectorLogOdds: float
    presentVectorLogOdds: float
    # Questions of the half on which it was chosen, and of the half on which both were compared.
    chosenCount: int
    comparedCount: int
    # ndcg@10 of the present value and of the chosen one, on the half of the questions that did not choose.
    difference: MeasureDifference
    # Whether the index ranks by the chosen value now.
    adopted: bool


class TuningCandidate(TypedDict, total=False):
    """TuningCandidate is a value that was tried."""
    vectorLogOdds: float
    # On the half of the questions on which the value was chosen.
    ndcg: float


class AnswerUsage(TypedDict, total=False):
    """AnswerUsage is what answers of an agent have taken."""
    # Turns of the agent's model.
    steps: str
    toolCalls: str
    inputTokens: str
    outputTokens: str
    # By the agent's prices, without the judge.
    cost: float
    removedCitations: str
    # Calls of the judge with those that were tried again, and their tokens.
    judgeCalls: str
    judgeInputTokens: str
    judgeOutputTokens: str


class Measure(TypedDict, total=False):
    """Measure is a number over all questions, with its 95% confidence interval: a percentile
    bootstrap over questions with 2,000 resamples.
    """
    # Of a query: recall@k, ndcg@k, all@k, mrr, precision, unanswerableAuc, p50Ms or p99Ms. Of an
    # agent: correctness, exactMatch, f1, faithfulness, citationPrecision, citationRecall,
    # declinedAnswerable, declinedUnanswerable, failed, judgeFailed, tokens, cost, p50Ms or p99Ms. See
    # docs/reference/evaluation.md.
    name: str
    value: float
    low: float
    high: float


class GetEvaluationRequest(TypedDict, total=False):
    """The message GetEvaluationRequest."""
    # Required.
    evaluationId: str


class ListEvaluationsRequest(TypedDict, total=False):
    """The message ListEvaluationsRequest."""
    # Only evaluations of this set. Default: all.
    setName: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListEvaluationsResponse(TypedDict, total=False):
    """The message ListEvaluationsResponse."""
    evaluations: list[Evaluation]
    # Empty on the last page.
    nextPageToken: str


class DeleteEvaluationRequest(TypedDict, total=False):
    """The message DeleteEvaluationRequest."""
    # Required.
    evaluationId: str


class DeleteEvaluationResponse(TypedDict, total=False):
    """The message DeleteEvaluationResponse."""


class ListEvaluationResultsRequest(TypedDict, total=False):
    """The message ListEvaluationResultsRequest."""
    # Required.
    evaluationId: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListEvaluationResultsResponse(TypedDict, total=False):
    """The message ListEvaluationResultsResponse."""
    results: list[QuestionResult]
    # Empty on the last page.
    nextPageToken: str


class QuestionResult(TypedDict, total=False):
    """QuestionResult is what one question of an evaluation got."""
    questionId: str
    text: str
    unanswerable: bool
    # Rank of the first relevant document or chunk; 0 if none was found.
    firstRank: int
    # Those that the question counts for, without intervals.
    measures: list[Measure]
    # Score of the best source; absent if nothing was found.
    topScore: float
    latencyMs: float
    # What is relevant and was not among the first of the largest k, or is not cited by an agent, at
    # most 20: uris, spans as uri#start-end, or "answer".
    missing: list[str]
    # The first sources, or the passages that an agent cites, at most 10.
    hits: list[QuestionHit]
    # Only of an agent.
    answer: QuestionAnswer


class QuestionAnswer(TypedDict, total=False):
    """QuestionAnswer is the answer of an agent to a question of an evaluation."""
    # At most 4 KiB of it.
    text: str
    # Why there is no answer; empty if there is one.
    error: str
    # Whether the agent said that it does not know; absent if that could not be decided.
    declined: bool
    usage: AgentUsage
    # Absent if no judge was asked.
    verdict: AnswerVerdict


class AnswerVerdict(TypedDict, total=False):
    """AnswerVerdict is what a judge says of an answer."""
    # Why the judge's answer could not be used; empty if it could. The other fields are then empty.
    error: str
    # Whether the answer says what the reference answers say, in [0,1]; absent without them.
    correctness: float
    # How much of what the answer says stands in the passages that it cites, in [0,1]; absent for an
    # answer that declines.
    faithfulness: float
    # The judge's reason, at most 1000 bytes of it.
    reason: str


class QuestionHit(TypedDict, total=False):
    """QuestionHit is a source that a question got."""
    uri: str
    startByte: int
    endByte: int
    score: float
    relevant: bool


class CompareEvaluationsRequest(TypedDict, total=False):
    """The message CompareEvaluationsRequest."""
    # Required. The evaluation that is compared with.
    baselineId: str
    # Required. Positive differences mean that this one has higher values.
    candidateId: str
    # The measure by which questions are sorted: recall@k, ndcg@k, all@k or mrr, by default ndcg
    # at the largest k that both have; of agents, any but p50Ms and p99Ms, by default the first of
    # correctness, f1, citationRecall and failed that both have.
    measure: str
    # How many of the questions that changed most are returned, 1 to 1000; 0 means 20.
    limit: int


class EvaluationComparison(TypedDict, total=False):
    """EvaluationComparison compares two evaluations over the questions that both have."""
    # Questions compared.
    questionCount: int
    # Questions that only one evaluation has, or that were changed between them.
    leftOutCount: int
    # Without those that are not comparable: judged measures of two judges, and declined questions
    # that were recognised in two ways.
    differences: list[MeasureDifference]
    # The measure by which changes are sorted.
    measure: str
    # The questions whose measure changed, those that changed most first.
    changes: list[QuestionChange]


class MeasureDifference(TypedDict, total=False):
    """MeasureDifference is the difference of a measure between two evaluations, over the questions that
    have it in both.
    """
    name: str
    baseline: float
    candidate: float
    # candidate - baseline, with its 95% confidence interval: a paired percentile bootstrap
    # over questions with 2,000 resamples.
    difference: float
    low: float
    high: float
    # Two-sided p-value of the bootstrap: how likely a difference as large is by chance.
    pValue: float
    # Questions for which the candidate's value is higher, lower and the same, and the
    # two-sided p-value of the sign test on them. Absent for measures that a single question
    # does not have.
    signTest: SignTest


class SignTest(TypedDict, total=False):
    """The message SignTest."""
    wins: int
    losses: int
    ties: int
    pValue: float


class QuestionChange(TypedDict, total=False):
    """QuestionChange is a question whose result changed."""
    questionId: str
    text: str
    baseline: float
    candidate: float
    # 0 if nothing relevant was found, and for agents.
    baselineFirstRank: int
    candidateFirstRank: int


class TuneIndexRequest(TypedDict, total=False):
    """The message TuneIndexRequest."""
    # Required.
    indexName: str
    # Required. The question set; its index may be another one with the same documents.
    setName: str
    # Whether the index is to rank by what is found. Default: false, which changes nothing.
    adopt: bool
    # Default: default.
    namespace: str
    # A note for people, at most 200 bytes.
    label: str


class RestoreTuningRequest(TypedDict, total=False):
    """The message RestoreTuningRequest."""
    # Required.
    indexName: str


class RestoreTuningResponse(TypedDict, total=False):
    """The message RestoreTuningResponse."""
    # The present tuning; absent if there is none now.
    tuning: IndexTuning


class Event(TypedDict, total=False):
    """Event is something that happened to a tenant."""
    # The same wherever the event is delivered.
    eventId: str
    # Such as document.ready. docs/reference/events.md lists all types.
    type: str
    createTime: str
    # What happened, by type.
    data: dict[str, Any]


class WatchEventsRequest(TypedDict, total=False):
    """The message WatchEventsRequest."""
    # Types of events, such as document.ready, document.* or *. Default: all that the
    # credential may receive.
    types: list[str]
    # Only events about these indexes, and events that are about no index. Default: all.
    indexes: list[str]
    # Of the events of tools, only those of these tools. Default: all.
    tools: list[str]
    # The cursor of the last message of an earlier stream: the new one continues after it.
    cursor: str


class WatchEventsResponse(TypedDict, total=False):
    """The message WatchEventsResponse."""
    # Unset in a message that only says that the stream is alive.
    event: Event
    # Continues the stream after this message.
    cursor: str


class Hook(TypedDict, total=False):
    """Hook is an address to which events are posted."""
    # 1 to 64 letters, digits, _ and -.
    hookName: str
    url: str
    description: str
    # Types of events, such as document.ready, document.* or *.
    events: list[str]
    # Of the events of tools, only those of these tools; empty for all.
    tools: list[str]
    # Only events about these indexes, and events that are about no index; empty for all.
    indexes: list[str]
    # Whether events contain arguments and results of tools, and metadata of documents.
    includeContent: bool
    # The most bytes of a delivery. What is larger is shortened and marked as truncated.
    maxPayloadBytes: int
    enabled: bool
    # Why the service disabled the hook; empty if it did not.
    disabledReason: str
    # Attempts that failed since the last that succeeded.
    failures: int
    # When the first of these was; unset without any.
    failingSinceTime: str
    # When the secret before the last rotation expires; unset when it has.
    previousSecretExpireTime: str
    createTime: str
    updateTime: str
    # Headers of deliveries. A value may contain {{secrets.name}}, which is replaced by the
    # secret of this name.
    headers: dict[str, str]
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str


class CreateHookRequest(TypedDict, total=False):
    """The message CreateHookRequest."""
    # Required. 1 to 64 letters, digits, _ and -.
    hookName: str
    # Required. An http or https address. Redirects are not followed.
    url: str
    # Required. Types of events, such as document.ready, document.* or *. At most 50.
    events: list[str]
    # At most 1,000 bytes.
    description: str
    # Of the events of tools, only those of these tools. At most 100. Default: all.
    tools: list[str]
    # Only events about these indexes, and events that are about no index. At most 100.
    # Default: all.
    indexes: list[str]
    # Whether events contain arguments and results of tools, and metadata of documents.
    # Default: true.
    includeContent: bool
    # The most bytes of a delivery, from 1,024 to 262,144. Default: 65,536.
    maxPayloadBytes: int
    # Default: true.
    enabled: bool
    # Headers of deliveries, at most 20. A value may contain {{secrets.name}}.
    headers: dict[str, str]


class CreateHookResponse(TypedDict, total=False):
    """The message CreateHookResponse."""
    hook: Hook
    # The secret of the signatures, which begins with whsec_. It cannot be read again.
    secret: str


class GetHookRequest(TypedDict, total=False):
    """The message GetHookRequest."""
    # Required.
    hookName: str


class ListHooksRequest(TypedDict, total=False):
    """The message ListHooksRequest."""
    # At most 1,000. Default: 100.
    pageSize: int
    # nextPageToken of the previous page.
    pageToken: str


class ListHooksResponse(TypedDict, total=False):
    """The message ListHooksResponse."""
    hooks: list[Hook]
    # Empty on the last page.
    nextPageToken: str


class HookFilter(TypedDict, total=False):
    """HookFilter is a list of names that may be empty."""
    names: list[str]


class HookHeaders(TypedDict, total=False):
    """HookHeaders are headers, of which there may be none."""
    headers: dict[str, str]


class UpdateHookRequest(TypedDict, total=False):
    """The message UpdateHookRequest."""
    # Required.
    hookName: str
    url: str
    # Empty leaves them unchanged.
    events: list[str]
    description: str
    # An empty list is all tools.
    tools: HookFilter
    # An empty list is all indexes.
    indexes: HookFilter
    includeContent: bool
    maxPayloadBytes: int
    enabled: bool
    # Replaces all headers.
    headers: HookHeaders
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str


class DeleteHookRequest(TypedDict, total=False):
    """The message DeleteHookRequest."""
    # Required.
    hookName: str


class DeleteHookResponse(TypedDict, total=False):
    """The message DeleteHookResponse."""


class RotateHookSecretRequest(TypedDict, total=False):
    """The message RotateHookSecretRequest."""
    # Required.
    hookName: str
    # How long deliveries are also signed with the old secret, at most 604,800 (a week); 0
    # ends it at once. Default: 86,400 (a day).
    graceSeconds: int


class RotateHookSecretResponse(TypedDict, total=False):
    """The message RotateHookSecretResponse."""
    hook: Hook
    # The new secret. It cannot be read again.
    secret: str


class TestHookRequest(TypedDict, total=False):
    """The message TestHookRequest."""
    # Required.
    hookName: str


class Delivery(TypedDict, total=False):
    """Delivery is an event that is or was posted to a hook."""
    # The webhook-id of every attempt.
    deliveryId: str
    hookName: str
    eventId: str
    # Of the event.
    type: str
    # pending, succeeded or failed. A failed delivery is not tried again, unless it is
    # replayed.
    status: str
    attempts: int
    # The HTTP status of the last answer; 0 without an answer.
    statusCode: int
    # Why the last attempt failed.
    error: str
    # The first 1,024 bytes of the last answer.
    response: str
    # How long the last attempt took.
    durationMs: int
    createTime: str
    # When the last attempt began; unset before the first.
    attemptTime: str
    # When the next attempt is due; unset if there is none.
    nextAttemptTime: str
    # The event, only in the answers of TestHook and ReplayDelivery.
    event: Event


class ListDeliveriesRequest(TypedDict, total=False):
    """The message ListDeliveriesRequest."""
    # Required.
    hookName: str
    # pending, succeeded or failed. Default: all.
    status: str
    # At most 1,000. Default: 100.
    pageSize: int
    # nextPageToken of the previous page.
    pageToken: str


class ListDeliveriesResponse(TypedDict, total=False):
    """The message ListDeliveriesResponse."""
    deliveries: list[Delivery]
    # Empty on the last page.
    nextPageToken: str


class ReplayDeliveryRequest(TypedDict, total=False):
    """The message ReplayDeliveryRequest."""
    # Required.
    hookName: str
    # Required.
    deliveryId: str


class ReplayFailedRequest(TypedDict, total=False):
    """The message ReplayFailedRequest."""
    # Required.
    hookName: str
    # Only deliveries since then. Default: all.
    startTime: str


class ReplayFailedResponse(TypedDict, total=False):
    """The message ReplayFailedResponse."""
    # How many deliveries are tried again.
    replayedCount: int


class Issuer(TypedDict, total=False):
    """Issuer is an authorization server whose tokens are JWTs. Names of claims within others are
    paths with dots, such as realm.scopes.
    """
    # 1 to 63 lower case letters, digits and -.
    issuerName: str
    # Address of the authorization server, exactly as in the claim iss of its tokens.
    url: str
    # Audiences that are accepted besides the addresses of the tenant, which are /t/{tenant} and
    # /t/{tenant}/mcp below the service's, and /t/{tenant}/mcp/{server} for one server.
    audiences: list[str]
    # Address of its keys. Empty: from its metadata.
    jwksUrl: str
    # Claim with the scopes.
    scopeClaim: str
    # What the names of this service's scopes begin with, such as api://ragd/.
    scopePrefix: str
    # The scopes that its tokens can give.
    scopes: list[str]
    # Claim with the mandatory filter, which every token must have then. Empty: none.
    filterClaim: str
    # Claim with the servers, indexes, tools and prompts that a token may use, which every token
    # must have then. Empty: none.
    boundsClaim: str
    createTime: str
    updateTime: str


class CreateIssuerRequest(TypedDict, total=False):
    """The message CreateIssuerRequest."""
    # Required. 1 to 63 lower case letters, digits and -.
    issuerName: str
    # Required. An https address of at most 500 bytes, exactly as in the claim iss.
    url: str
    # At most 10. Default: only the addresses of the tenant.
    audiences: list[str]
    # Default: from its metadata (RFC 8414, or OpenID Connect Discovery).
    jwksUrl: str
    # Default: scope.
    scopeClaim: str
    # Default: none.
    scopePrefix: str
    # Of read, write and admin. Default: read and write.
    scopes: list[str]
    filterClaim: str
    boundsClaim: str


class GetIssuerRequest(TypedDict, total=False):
    """The message GetIssuerRequest."""
    # Required.
    issuerName: str


class ListIssuersRequest(TypedDict, total=False):
    """The message ListIssuersRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListIssuersResponse(TypedDict, total=False):
    """The message ListIssuersResponse."""
    issuers: list[Issuer]
    # Empty on the last page.
    nextPageToken: str


class UpdateIssuerRequest(TypedDict, total=False):
    """The message UpdateIssuerRequest."""
    # Required.
    issuerName: str
    # Replaces all audiences.
    audiences: Audiences
    jwksUrl: str
    scopeClaim: str
    scopePrefix: str
    # Replaces all scopes; an empty list leaves them.
    scopes: list[str]
    filterClaim: str
    boundsClaim: str


class Audiences(TypedDict, total=False):
    """Audiences is a list of audiences, which may be empty."""
    audiences: list[str]


class DeleteIssuerRequest(TypedDict, total=False):
    """The message DeleteIssuerRequest."""
    # Required.
    issuerName: str


class DeleteIssuerResponse(TypedDict, total=False):
    """The message DeleteIssuerResponse."""


class Memory(TypedDict, total=False):
    """Memory is a short text about a user."""
    memoryId: str
    text: str
    source: MemorySource
    # From when on the text holds.
    validFrom: str
    # Until when it held, or will hold; absent while no end is known.
    validUntil: str
    # When it is erased; absent for never.
    expireTime: str
    # The memory that this one has replaced; empty for none.
    replaces: str
    # The memory that has replaced this one; empty for none.
    replacedBy: str
    # Whose memory it is.
    subject: str
    createTime: str
    # How similar it is to the question of a Recall, at most 1.
    score: float


class MemorySource(TypedDict, total=False):
    """MemorySource says what a memory comes from."""
    # The agent that stored it, and the conversation; empty if no agent did.
    agentName: str
    threadId: str
    # The beginning of the user's message to the agent.
    message: str
    # What the caller of Remember said of it.
    note: str


class RememberRequest(TypedDict, total=False):
    """The message RememberRequest."""
    # Required. One fact or preference, at most 2,000 bytes.
    text: str
    # Absent: now.
    validFrom: str
    validUntil: str
    expireTime: str
    # The memory that this one updates: its validity ends where that of the new one begins.
    replaces: str
    # Where the text comes from, such as a link; at most 500 bytes.
    note: str


class RecallRequest(TypedDict, total=False):
    """The message RecallRequest."""
    # Required. At most 2,000 bytes.
    queryText: str
    # 1 to 50; 0 means 5.
    topK: int
    # Memories that held at this time. Absent: now.
    asOf: str


class RecallResponse(TypedDict, total=False):
    """The message RecallResponse."""
    memories: list[Memory]


class ListMemoriesRequest(TypedDict, total=False):
    """The message ListMemoriesRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str
    # Memories of this subject; empty: of the caller. For admins.
    subject: str
    # Memories of all subjects. For admins.
    allSubjects: bool


class ListMemoriesResponse(TypedDict, total=False):
    """The message ListMemoriesResponse."""
    memories: list[Memory]
    # Empty on the last page.
    nextPageToken: str


class ForgetRequest(TypedDict, total=False):
    """The message ForgetRequest."""
    memoryId: str
    # Erases what a recall of this question finds, of all times.
    queryText: str
    # Erases all.
    all: bool
    # Erases nothing, and says what would be erased.
    dryRun: bool
    # Memories of this subject; empty: of the caller. For admins.
    subject: str


class ForgetResponse(TypedDict, total=False):
    """The message ForgetResponse."""
    # With earlier and later versions.
    deletedCount: int
    # The first 100 of them.
    memories: list[Memory]


class Plan(TypedDict, total=False):
    """Plan is a named set of quotas and features."""
    # 1 to 40 characters of [a-z0-9-], the first a letter.
    planName: str
    # Name for display, at most 200 bytes.
    displayName: str
    # Quotas, sleepAfter and deletedRetention, as in the settings of Tenant, for tenants whose own settings do not have them. Other keys are
    # refused.
    settings: dict[str, Any]
    features: PlanFeatures
    # Tenants that have the plan.
    tenants: int
    createTime: str
    updateTime: str


class PlanFeatures(TypedDict, total=False):
    """PlanFeatures are what the tenants of a plan may use besides its quotas."""
    # What they do not have: agents, connectors, externalTools (tools and steps of workflows that call other services over
    # HTTP or MCP), workflows. Default: nothing, they have all features.
    without: list[str]
    # Patterns of the names of the models at endpoints that they may use, such as openai/gpt-*-mini, in which * stands for any
    # characters. Models inside the service, builtin and local ones, are always allowed, and an index keeps its embedding
    # model. At most 100 patterns of at most 200 bytes. Default: all models.
    models: list[str]


class CreatePlanRequest(TypedDict, total=False):
    """The message CreatePlanRequest."""
    # Required. 1 to 40 lower-case letters, digits and hyphens, the first a letter.
    planName: str
    displayName: str
    # As in Plan.
    settings: dict[str, Any]
    features: PlanFeatures


class GetPlanRequest(TypedDict, total=False):
    """The message GetPlanRequest."""
    # Required.
    planName: str


class ListPlansRequest(TypedDict, total=False):
    """The message ListPlansRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListPlansResponse(TypedDict, total=False):
    """The message ListPlansResponse."""
    plans: list[Plan]
    # Empty on the last page.
    nextPageToken: str


class UpdatePlanRequest(TypedDict, total=False):
    """The message UpdatePlanRequest."""
    # Required.
    planName: str
    displayName: str
    # Replaces all settings.
    settings: dict[str, Any]
    # Replaces all features.
    features: PlanFeatures


class DeletePlanRequest(TypedDict, total=False):
    """The message DeletePlanRequest."""
    # Required.
    planName: str


class DeletePlanResponse(TypedDict, total=False):
    """The message DeletePlanResponse."""


class Policy(TypedDict, total=False):
    """Policy says what happens to calls of tools. Those that match a call are applied one after the other, and
    each sees what earlier ones have redacted. The first that denies ends the call.
    """
    # 1 to 64 letters, digits, _ and -.
    policyName: str
    # For people.
    description: str
    # Names of tools, in which * stands for any characters: those that the tenant or the service gave, which
    # a server may show under others.
    tools: list[str]
    # before the call, or after it, with its result.
    phase: str
    # A CEL expression over tool, arguments, caller and server, and after the call result. Empty: always. An
    # expression that fails denies the call.
    condition: str
    # deny, redact, or approve, which asks the user of the client before the call.
    action: str
    # What the caller of a denied call, and a user who is asked, read.
    message: str
    # What the action redact replaces.
    redaction: PolicyRedaction
    # Policies with lower numbers come first, and those of equal numbers in the order of their names.
    order: int
    # Whether the policy is kept without effect.
    disabled: bool
    createTime: str
    updateTime: str
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str


class PolicyRedaction(TypedDict, total=False):
    """PolicyRedaction is what is replaced in the arguments of a call, or in its result."""
    # Paths of values in the arguments or in the structured result, as in customer.email or items.*.price,
    # where * stands for all members or items.
    paths: list[str]
    # Patterns of RE2, whose matches are replaced in all texts.
    patterns: list[str]
    # Default: [redacted].
    replacement: str


class CreatePolicyRequest(TypedDict, total=False):
    """The message CreatePolicyRequest."""
    # Required. 1 to 64 letters, digits, _ and -.
    policyName: str
    # At most 1000 bytes.
    description: str
    # Required: 1 to 100 names or patterns.
    tools: list[str]
    # Default: before.
    phase: str
    # At most 4 KiB.
    condition: str
    # Required: deny, redact or approve.
    action: str
    # At most 1000 bytes.
    message: str
    # Required for the action redact.
    redaction: PolicyRedaction
    # -1000 to 1000.
    order: int
    disabled: bool


class GetPolicyRequest(TypedDict, total=False):
    """The message GetPolicyRequest."""
    # Required.
    policyName: str


class ListPoliciesRequest(TypedDict, total=False):
    """The message ListPoliciesRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListPoliciesResponse(TypedDict, total=False):
    """The message ListPoliciesResponse."""
    policies: list[Policy]
    # Empty on the last page.
    nextPageToken: str


class UpdatePolicyRequest(TypedDict, total=False):
    """The message UpdatePolicyRequest."""
    # Required.
    policyName: str
    description: str
    # Replaces all names; an empty list leaves them.
    tools: list[str]
    phase: str
    condition: str
    action: str
    message: str
    # Replaces it as a whole.
    redaction: PolicyRedaction
    order: int
    disabled: bool
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str


class DeletePolicyRequest(TypedDict, total=False):
    """The message DeletePolicyRequest."""
    # Required.
    policyName: str


class DeletePolicyResponse(TypedDict, total=False):
    """The message DeletePolicyResponse."""


class ExplainPoliciesRequest(TypedDict, total=False):
    """The message ExplainPoliciesRequest."""
    # Required: the name of a tool that the tenant or the service gave.
    toolName: str
    arguments: dict[str, Any]
    # What the call would return. Without it, policies of the phase after are not applied.
    result: PolicyResult
    # The caller that expressions see. Default: the caller of this method.
    caller: dict[str, Any]
    # The name of the tenant's MCP server that the call comes through. Default: that of the request.
    server: str


class PolicyResult(TypedDict, total=False):
    """PolicyResult is the result of a call."""
    structuredContent: dict[str, Any]
    text: str
    # Whether the text is that of an error.
    isError: bool


class ExplainPoliciesResponse(TypedDict, total=False):
    """The message ExplainPoliciesResponse."""
    # allowed, denied or approval, which is a call that has to be approved first.
    outcome: str
    # What the caller of a denied call, or the user who is asked, would read.
    message: str
    # The policies for the tool in the order in which they are applied. A denied call is in none after it.
    decisions: list[PolicyDecision]
    # The arguments with which the tool would be called.
    arguments: dict[str, Any]
    # What the caller would get, if a result was given.
    result: PolicyResult


class PolicyDecision(TypedDict, total=False):
    """PolicyDecision is what a policy does to a call."""
    policyName: str
    phase: str
    action: str
    # Whether the condition holds, so that the action is taken.
    applies: bool
    # Whether the action redact has replaced something.
    redacted: bool
    # Why the condition could not be evaluated, which denies the call; empty if it could.
    error: str


class Prompt(TypedDict, total=False):
    """Prompt is a version of a prompt."""
    promptName: str
    # From 1; incremented by each change.
    version: int
    # Name of the version, such as stable. Empty for none.
    versionName: str
    # For people.
    title: str
    description: str
    arguments: list[PromptArgument]
    messages: list[PromptMessage]
    # When this version was made.
    createTime: str
    # Versions that exist, the newest first. Only in answers of GetPrompt.
    versions: list[int]
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str


class PromptArgument(TypedDict, total=False):
    """PromptArgument is a value that a user fills in."""
    # 1 to 64 letters, digits, _ and -. The arguments indexName, documentId, uri, firstUri,
    # secondUri and metadataKey are completed while a user types.
    name: str
    title: str
    description: str
    required: bool


class PromptMessage(TypedDict, total=False):
    """PromptMessage is a message of a conversation. Its texts have placeholders such as
    {{arguments.question}}, {{tenant}}, {{subject}} and {{server}}, with a default as in
    {{arguments.tone ?? "friendly"}}.
    """
    # user or assistant. Default: user.
    role: str
    text: str
    # A resource that the client may read.
    resourceLink: PromptResource
    # A resource whose content callers get with the message. It is read when the prompt is
    # got, with the rights of the caller.
    resource: PromptResource
    image: PromptMedia
    audio: PromptMedia
    # Content of the resource, in the answer of GetPromptMessages. It has several parts for
    # resources such as chunks or a document, which is its text and its metadata. Ignored in
    # requests.
    resourceContent: list[ResourceContent]


class ResourceContent(TypedDict, total=False):
    """ResourceContent is a part of the content of a resource."""
    uri: str
    mimeType: str
    text: str
    blob: str
    # What MCP clients get in _meta, such as ragd/range: startByte, endByte and byteSize of a text,
    # and next, the URI of what follows it.
    meta: dict[str, Any]


class PromptMedia(TypedDict, total=False):
    """PromptMedia is an image or a sound."""
    # Such as image/png.
    mimeType: str
    data: str


class PromptResource(TypedDict, total=False):
    """The message PromptResource."""
    # URI of a resource of this service, such as
    # ragd://indexes/docs/documents/{{arguments.documentId}}, or of a document, such as
    # https://example.com/terms.md; or one placeholder alone.
    uri: str
    # Name of a link. Default: the URI.
    name: str
    title: str
    description: str
    mimeType: str


class PromptArguments(TypedDict, total=False):
    """The message PromptArguments."""
    arguments: list[PromptArgument]


class PromptMessages(TypedDict, total=False):
    """The message PromptMessages."""
    messages: list[PromptMessage]


class CreatePromptRequest(TypedDict, total=False):
    """The message CreatePromptRequest."""
    # 1 to 64 letters, digits, _ and -; not one of a builtin prompt, nor one that begins with
    # ragd.
    promptName: str
    title: str
    description: str
    arguments: list[PromptArgument]
    messages: list[PromptMessage]
    # Name of the version: 1 to 64 letters, digits, ., _ and -, the first a letter; not latest.
    versionName: str


class GetPromptRequest(TypedDict, total=False):
    """The message GetPromptRequest."""
    promptName: str
    # Number or name of a version. Default: the latest.
    version: str


class ListPromptsRequest(TypedDict, total=False):
    """The message ListPromptsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListPromptsResponse(TypedDict, total=False):
    """The message ListPromptsResponse."""
    prompts: list[Prompt]
    # Empty on the last page.
    nextPageToken: str


class UpdatePromptRequest(TypedDict, total=False):
    """The message UpdatePromptRequest."""
    promptName: str
    title: str
    description: str
    # Replace all arguments.
    arguments: PromptArguments
    # Replace all messages.
    messages: PromptMessages
    # Name of the new version, or, if nothing else changes, of the latest. A version that has the
    # name loses it.
    versionName: str
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str


class DeletePromptRequest(TypedDict, total=False):
    """The message DeletePromptRequest."""
    promptName: str
    # Number or name of the one version to delete. Default: all.
    version: str


class DeletePromptResponse(TypedDict, total=False):
    """The message DeletePromptResponse."""


class GetPromptMessagesRequest(TypedDict, total=False):
    """The message GetPromptMessagesRequest."""
    promptName: str
    # Number or name of a version. Default: the latest.
    version: str
    arguments: dict[str, str]


class GetPromptMessagesResponse(TypedDict, total=False):
    """The message GetPromptMessagesResponse."""
    description: str
    messages: list[PromptMessage]
    version: int
    versionName: str


class ResearchRequest(TypedDict, total=False):
    """The message ResearchRequest."""
    # The question. It may ask several things at once, compare things, and go on from one thing to the next. At most 8 KiB.
    question: str
    # Names or patterns (such as team-*) of the indexes to search, at most 32; each part of the question is answered from the one that
    # has the best passage for it. Default: all that the caller may see.
    indexNames: list[str]
    # As in VectorQuery.
    namespace: str
    # As in VectorQuery. It holds for all that is read.
    filter: Any
    budget: ResearchBudget


class ResearchBudget(TypedDict, total=False):
    """ResearchBudget bounds what a research takes."""
    # Above 0, at most 60. Default: 20.
    seconds: float
    # Searches, and followings of names: 1 to 64. Default: 32.
    steps: int
    # Passages of the result: 1 to 50. Default: 8.
    passages: int
    # Most tokens of relevantContext, as in VectorQuery. Default: no limit.
    maxTokens: int
    # As in VectorQuery.
    encodingName: str


class ResearchResponse(TypedDict, total=False):
    """The message ResearchResponse."""
    # The passages as text for a prompt, numbered.
    relevantContext: str
    # In the order in which to read them: the chains of all parts, passage by passage, then others that may help. Each is there once.
    passages: list[ResearchPassage]
    # What the question was cut into, with what was found for each.
    parts: list[ResearchPart]
    warnings: list[str]
    # Steps that it took.
    stepCount: int
    durationMs: float
    # Why it ended: exhausted (nothing new came), steps, seconds or quota.
    stopped: str
    # With maxTokens.
    budget: Budget


class ResearchPart(TypedDict, total=False):
    """ResearchPart is a part of the question that is answered by itself."""
    text: str
    # Names of things in it, or that it refers to with a pronoun.
    names: list[str]
    # The index that it is answered from.
    indexName: str
    # Whether its passages state all of its relations; see ResearchRelation.
    found: bool
    # Share of what it asks, by weight, that the passages of its chain speak of, in [0,1].
    coverage: float
    # Its words that none of them speaks of.
    missing: list[str]
    # Numbers in passages, from 0: its best chain, in which each passage names the next.
    passages: list[int]
    # The filter by dates of the question that the first search prefers, if the schema of the index has date fields; else empty.
    dateFilter: dict[str, Any]
    # What a chain from the names on has to state, in its order.
    relations: list[ResearchRelation]


class ResearchRelation(TypedDict, total=False):
    """ResearchRelation is a piece of a part that leads from one thing to the next, such as "founder" and "born" in "where was the founder
    of X born". It is stated if a passage says it, with one of its words or of their group, of the thing that the relation before leads
    to: the last one of what it asks, any other of the name of the next thing.
    """
    # Its words in the question, in lower case.
    text: str
    # Whether the chain states it.
    stated: bool
    # Where, if the passage is in passages.
    statements: list[ResearchStatement]


class ResearchStatement(TypedDict, total=False):
    """ResearchStatement is a sentence that states a relation."""
    # Number in passages, from 0.
    passage: int
    text: str
    # Where it stands in the passage's document (Source.document).
    range: ByteRange
    # What it leads to or says, as far as a name or a number shows it; else empty.
    value: str


class ResearchPassage(TypedDict, total=False):
    """ResearchPassage is a passage of the evidence."""
    source: Source
    # Numbers in parts, from 0, whose chains have it. None for a passage that may help.
    parts: list[int]
    quotes: list[ResearchQuote]
    # How the chain leads to it, in English; empty for the first passage of a chain.
    via: str


class ResearchQuote(TypedDict, total=False):
    """ResearchQuote is a piece of a passage."""
    text: str
    # Where it stands in the passage's document (Source.document).
    range: ByteRange
    # The title of the passage that it leads to; empty for one that answers.
    names: str


class ResearchStreamRequest(TypedDict, total=False):
    """The message ResearchStreamRequest."""
    research: ResearchRequest


class ResearchEvent(TypedDict, total=False):
    """The message ResearchEvent."""
    plan: ResearchPlan
    step: ResearchStep
    finding: ResearchFinding
    result: ResearchResponse


class ResearchPlan(TypedDict, total=False):
    """ResearchPlan is what the question was cut into."""
    parts: list[ResearchPart]


class ResearchStep(TypedDict, total=False):
    """ResearchStep is a search, or a following of names."""
    # From 1.
    number: int
    # The part, from 0; absent for the whole question.
    part: int
    # walk (the whole question over the graph), search or follow.
    kind: str
    # What was searched for, or the titles of the passages whose names were followed.
    text: str
    # Passages.
    foundCount: int


class ResearchFinding(TypedDict, total=False):
    """ResearchFinding is the best chain of a part."""
    part: int
    # Titles of its passages, in its order.
    titles: list[str]
    found: bool


class Secret(TypedDict, total=False):
    """Secret is a named value that cannot be read."""
    secretName: str
    # Hosts to which the value may be sent; empty: any. Who has the scope write may use a
    # secret with hosts in tools that call these hosts; a tool with a secret without hosts
    # needs the scope admin to be created or changed.
    hosts: list[str]
    createTime: str
    updateTime: str


class SecretHosts(TypedDict, total=False):
    """SecretHosts is a list of hosts."""
    # At most 16, such as api.example.com or api.example.com:8443; without a port the default
    # port of the scheme is meant.
    hosts: list[str]


class SetSecretRequest(TypedDict, total=False):
    """The message SetSecretRequest."""
    # Required. 1 to 64 letters, digits, _ and -.
    secretName: str
    # Required unless generate is set. At most 8 KiB.
    value: str
    # Instead of value: store a random secret for signatures by Standard Webhooks (whsec_...).
    generate: bool
    # Replaces the hosts. Default: those of the existing secret; none for a new one.
    hosts: SecretHosts


class SetSecretResponse(TypedDict, total=False):
    """The message SetSecretResponse."""
    secret: Secret
    # The value that was generated, which is returned this once.
    generatedValue: str


class ListSecretsRequest(TypedDict, total=False):
    """The message ListSecretsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListSecretsResponse(TypedDict, total=False):
    """The message ListSecretsResponse."""
    secrets: list[Secret]
    # Empty on the last page.
    nextPageToken: str


class DeleteSecretRequest(TypedDict, total=False):
    """The message DeleteSecretRequest."""
    # Required.
    secretName: str


class DeleteSecretResponse(TypedDict, total=False):
    """The message DeleteSecretResponse."""


class Server(TypedDict, total=False):
    """Server is an MCP server of a tenant."""
    serverName: str
    version: str
    title: str
    description: str
    instructions: str
    icons: list[ServerIcon]
    websiteUrl: str
    repository: ServerRepository
    # Tools that the server shows, by the tenant's names; absent for all.
    tools: AllowedNames
    # Prompts that the server shows; absent for all.
    prompts: AllowedNames
    # Indexes that calls may use and see; absent for all.
    indexes: AllowedNames
    # Whether the server serves no resources.
    hideResources: bool
    # Tools that have other names or texts on this server.
    presented: list[PresentedTool]
    # Request context of calls that set nothing else.
    defaultContext: dict[str, Any]
    # Request context that callers cannot change.
    fixedContext: dict[str, Any]
    registryName: str
    # Address for MCP clients.
    url: str
    # The document server.json of the MCP registry, for publishing. Only in GetServer.
    registryDocument: dict[str, Any]
    createTime: str
    updateTime: str


class ServerIcon(TypedDict, total=False):
    """ServerIcon is an image that clients may show for a server."""
    # Required. An https address of at most 255 bytes, or a data URI in base64.
    src: str
    # image/png, image/jpeg, image/svg+xml or image/webp.
    mimeType: str
    # Such as 48x48, or any. At most 8.
    sizes: list[str]
    # light or dark: the background for which the icon is made.
    theme: str


class ServerRepository(TypedDict, total=False):
    """ServerRepository is where the source of a server is."""
    # Required.
    url: str
    # Required. The hosting service, such as github.
    source: str
    # Id of the repository at the hosting service.
    id: str
    # Path of the server in the repository.
    subfolder: str


class PresentedTool(TypedDict, total=False):
    """PresentedTool is how a server shows a tool. Empty fields show the tool's own."""
    # Required. The tenant's name of the tool.
    toolName: str
    # Name on this server: 1 to 64 letters, digits, _ and -. The tool is not found under its
    # other name.
    name: str
    # At most 200 bytes.
    title: str
    # At most 4 KiB.
    description: str


class PresentedTools(TypedDict, total=False):
    """PresentedTools is a list of tools that have other names or texts."""
    # At most 200.
    tools: list[PresentedTool]


class ServerIcons(TypedDict, total=False):
    """ServerIcons is a list of icons."""
    # At most 8, with 64 KiB in data URIs.
    icons: list[ServerIcon]


class CreateServerRequest(TypedDict, total=False):
    """The message CreateServerRequest."""
    # Required. 1 to 63 of a-z, 0-9, _ and -, the first and the last a letter or a digit. The
    # server default is the one at /mcp.
    serverName: str
    # One version, at most 100 bytes. Default: 1.0.0.
    version: str
    # At most 200 bytes. Default: the name.
    title: str
    # For people. At most 4 KiB; the registry document has the first 100 characters.
    description: str
    # For models: how to use the server. At most 16 KiB. Default: those of ragd.
    instructions: str
    # At most 8, with 64 KiB in data URIs.
    icons: list[ServerIcon]
    websiteUrl: str
    repository: ServerRepository
    # Names of tools to show: builtin ones and the tenant's. Default: all, also later ones.
    tools: AllowedNames
    # Names of prompts to show. Default: all.
    prompts: AllowedNames
    # Names of indexes that calls may use and see. Default: all.
    indexes: AllowedNames
    hideResources: bool
    # At most 200.
    presented: list[PresentedTool]
    # Request context of calls that set nothing else, as in the header Ragd-Context. At most
    # 16 KiB of JSON. Its filter always holds.
    defaultContext: dict[str, Any]
    # Request context that callers cannot change. At most 16 KiB of JSON. Its filter holds for
    # everything that calls read and write, as the mandatory filter of a key does.
    fixedContext: dict[str, Any]
    # Name in the registry document in reverse-DNS form, such as com.example/handbook.
    # Default: of the service's host name, the tenant and the server.
    registryName: str


class GetServerRequest(TypedDict, total=False):
    """The message GetServerRequest."""
    # Required.
    serverName: str


class ListServersRequest(TypedDict, total=False):
    """The message ListServersRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListServersResponse(TypedDict, total=False):
    """The message ListServersResponse."""
    servers: list[Server]
    # Empty on the last page.
    nextPageToken: str


class UpdateServerRequest(TypedDict, total=False):
    """The message UpdateServerRequest."""
    # Required.
    serverName: str
    version: str
    title: str
    description: str
    instructions: str
    # Replaces all icons.
    icons: ServerIcons
    websiteUrl: str
    # Replaces the repository; an empty one removes it.
    repository: ServerRepository
    # Replaces the list. See also all_tools.
    tools: AllowedNames
    # Replaces the list. See also all_prompts.
    prompts: AllowedNames
    # Replaces the list. See also all_indexes.
    indexes: AllowedNames
    hideResources: bool
    # Replaces all of them.
    presented: PresentedTools
    # Replaces the request context as a whole.
    defaultContext: dict[str, Any]
    # Replaces the request context as a whole.
    fixedContext: dict[str, Any]
    registryName: str
    # Show all tools.
    allTools: bool
    # Show all prompts.
    allPrompts: bool
    # Show all indexes.
    allIndexes: bool


class DeleteServerRequest(TypedDict, total=False):
    """The message DeleteServerRequest."""
    # Required.
    serverName: str


class DeleteServerResponse(TypedDict, total=False):
    """The message DeleteServerResponse."""


class Tool(TypedDict, total=False):
    """Tool is a tool defined by a tenant. A call combines, in order of precedence: the
    request context, the arguments that the model may give and gave, the settings, and the
    defaults of the kind. Filters are and-ed instead: those of the credential, the request
    context, the settings and the model must all match.
    """
    # 1 to 64 letters, digits, _ and -.
    toolName: str
    # vector_query, graph_rag, document_chunker, http or mcp.
    kind: str
    # Title for people.
    title: str
    # Description for models: what the tool finds, and when to use it.
    description: str
    # Fields of the kind's request: VectorQueryRequest, GraphRagRequest or
    # ChunkTextRequest. A query needs indexName here or among arguments, and takes enableFilter:
    # whether the model may give a filter. A vectorStoreName is a name for the tool's store. A value
    # may be a reference to the request context, such as {"$context": "context.depth ?? 5"}.
    settings: dict[str, Any]
    # Fields of the kind's request that the model may give.
    arguments: list[str]
    # Whether the request context may not change the settings. Its filter still applies.
    fixed: bool
    createTime: str
    updateTime: str
    # Whether it is one of the service's own tools, which have no settings.
    builtin: bool
    # JSON Schema of the arguments. Set by GetTool, and by ListTools for the tools that the
    # caller may call.
    inputSchema: dict[str, Any]
    # JSON Schema of the structured content; absent if it is not described.
    outputSchema: dict[str, Any]
    annotations: ToolAnnotations
    # Additional information for clients, which MCP lists as _meta.
    meta: dict[str, Any]
    # Whether a call changes what the tenant has stored, and needs the scope write.
    writes: bool
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str


class ToolAnnotations(TypedDict, total=False):
    """ToolAnnotations tell clients how a tool behaves. What is absent is not known."""
    # The tool changes nothing.
    readOnlyHint: bool
    # It may delete or overwrite something.
    destructiveHint: bool
    # Another call with the same arguments changes nothing more.
    idempotentHint: bool
    # It deals with systems outside of the service.
    openWorldHint: bool


class CreateToolRequest(TypedDict, total=False):
    """The message CreateToolRequest."""
    # Required. 1 to 64 letters, digits, _ and -.
    toolName: str
    # Required: vector_query, graph_rag, document_chunker, http or mcp.
    kind: str
    # At most 200 bytes. Default: the name.
    title: str
    # At most 4 KiB. Default: that of the kind.
    description: str
    # At most 16 KiB of JSON.
    settings: dict[str, Any]
    # Default: queryText, topK and filter for a query, text for document_chunker.
    arguments: list[str]
    fixed: bool
    # Where they differ from those of the kind. They are hints to clients: what a tool may do
    # follows from its kind.
    annotations: ToolAnnotations
    # At most 8 KiB of JSON. Keys that begin with ragd/ are the service's.
    meta: dict[str, Any]
    # JSON Schema of an object, at most 32 KiB. Default: that of the kind.
    outputSchema: dict[str, Any]


class GetToolRequest(TypedDict, total=False):
    """The message GetToolRequest."""
    # Required.
    toolName: str


class ListToolsRequest(TypedDict, total=False):
    """The message ListToolsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str
    # Lists the builtin tools too, and of all tools those that the caller may call.
    includeBuiltin: bool


class ListToolsResponse(TypedDict, total=False):
    """The message ListToolsResponse."""
    tools: list[Tool]
    # Empty on the last page.
    nextPageToken: str


class UpdateToolRequest(TypedDict, total=False):
    """The message UpdateToolRequest."""
    # Required.
    toolName: str
    title: str
    description: str
    # Replaces the settings as a whole.
    settings: dict[str, Any]
    # Replaces all arguments; an empty list leaves them.
    arguments: list[str]
    fixed: bool
    # Replaces all annotations.
    annotations: ToolAnnotations
    # Replaces it as a whole; an empty object removes it.
    meta: dict[str, Any]
    # Replaces it; an empty object restores that of the kind.
    outputSchema: dict[str, Any]
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str


class DeleteToolRequest(TypedDict, total=False):
    """The message DeleteToolRequest."""
    # Required.
    toolName: str


class DeleteToolResponse(TypedDict, total=False):
    """The message DeleteToolResponse."""


class CallToolRequest(TypedDict, total=False):
    """The message CallToolRequest."""
    # Required.
    toolName: str
    # The arguments, as the tool's input schema describes them.
    arguments: dict[str, Any]
    # Overrides of the request context, as in the header Ragd-Context, over which they take
    # precedence.
    context: dict[str, Any]
    # Whether the caller can ask its user: if so, a call that lacks an argument may be answered
    # with a question.
    canAsk: bool
    # The user's answers to the question, for the call repeated with them; an empty object if the
    # user gave none.
    answers: dict[str, Any]


class CallToolStreamRequest(TypedDict, total=False):
    """The message CallToolStreamRequest."""
    # Required.
    call: CallToolRequest


class CallToolResponse(TypedDict, total=False):
    """The message CallToolResponse."""
    # The answer for programs, as the tool's output schema describes it.
    structuredContent: dict[str, Any]
    # The answer as text for a model.
    text: str
    # Content blocks in the JSON of MCP, of tools that answer with other content than text.
    content: list[Any]
    # Additional information for clients.
    meta: dict[str, Any]
    # Set instead of all others if the call needs an answer of the user.
    question: ToolQuestion


class ToolQuestion(TypedDict, total=False):
    """ToolQuestion asks the user for arguments of a call."""
    message: str
    # JSON Schema of a flat object, whose properties are arguments.
    schema: dict[str, Any]


class CallToolEvent(TypedDict, total=False):
    """CallToolEvent is a message of CallToolStream."""
    progress: ToolProgress
    # The answer; the last message.
    response: CallToolResponse


class ToolProgress(TypedDict, total=False):
    """ToolProgress is how far a call has come."""
    # Grows with each message.
    done: float
    # 0 if it is not known.
    total: float
    message: str


class Entry(TypedDict, total=False):
    """Entry is a vector to store."""
    # 1 to 1024 bytes. Default: a generated id.
    id: str
    # One value per dimension of the index; 0 or 1 for an index of vectorType bit.
    values: list[float]
    metadata: dict[str, Any]
    # The text, at most 256 KiB, with which keyword search finds the entry too. Default: the
    # string "text" of the metadata.
    document: str
    # Instead of values, for an index of vectorType sparsevec. Beside values, for one of vector
    # or halfvec with the metric cosine or dotproduct: at most 1,000 values that are not 0, at
    # indices below 1,000,000,000.
    sparseValues: SparseVector


class UpsertRequest(TypedDict, total=False):
    """The message UpsertRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # At most 10,000, in a message of at most 32 MB.
    entries: list[Entry]
    # Filter; entries that match are deleted first, in the same transaction.
    deleteFilter: Any
    # Default: "default".
    namespace: str


class UpsertResponse(TypedDict, total=False):
    """The message UpsertResponse."""
    # In the order of the entries.
    ids: list[str]


class QueryRequest(TypedDict, total=False):
    """The message QueryRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # One value per dimension. Without it, the filter alone selects.
    queryVector: list[float]
    # 1 to 1000; default 10.
    topK: int
    # A filter over metadata, see docs/reference/filters.md.
    filter: Any
    # Default false.
    includeVector: bool
    # Returns only results that score more than this, in the metric's score.
    minScore: float
    # Default: "default".
    namespace: str
    databaseConfig: DatabaseConfig
    # Adds timings and the plan of the search.
    explain: bool
    # Selects the block of databaseConfig, as in VectorQuery.
    vectorStoreName: str
    # The query vector, for an index of vectorType sparsevec. Beside queryVector, for other
    # indexes: its inner product with the sparse values of an entry is added to the score. Such
    # a search compares all entries of the scope.
    sparseVector: SparseVector
    # As in QueryService.VectorQuery.
    maxStaleness: str
    # As in QueryService.VectorQuery.
    writeToken: str
    # As in QueryService.VectorQuery.
    recallTarget: float


class QueryResponse(TypedDict, total=False):
    """The message QueryResponse."""
    # Best first; ties in the order of their ids.
    results: list[QueryResult]
    # Notices that do not prevent an answer, in English.
    warnings: list[str]
    explain: Explain


class QueryResult(TypedDict, total=False):
    """The message QueryResult."""
    id: str
    # As the score of a Source in vector mode.
    score: float
    metadata: dict[str, Any]
    # Empty unless includeVector.
    vector: list[float]
    document: str


class UpdateRequest(TypedDict, total=False):
    """The message UpdateRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # Exactly one of id and filter.
    id: str
    filter: Any
    # The new vector, if given.
    values: list[float]
    # The new metadata, if given.
    metadata: dict[str, Any]
    # Default: "default".
    namespace: str
    # The new sparse values, as in Entry, if given.
    sparseValues: SparseVector


class UpdateResponse(TypedDict, total=False):
    """The message UpdateResponse."""
    updatedCount: int


class DeleteRequest(TypedDict, total=False):
    """The message DeleteRequest."""
    # Default: the tenant's index, if it has exactly one.
    indexName: str
    # At most one of ids and filter. If namespace alone is given, all of it is deleted.
    ids: list[str]
    filter: Any
    # Default, with ids or filter: "default".
    namespace: str


class DeleteResponse(TypedDict, total=False):
    """The message DeleteResponse."""
    deletedCount: int


class Workflow(TypedDict, total=False):
    """Workflow is a version of a workflow."""
    workflowName: str
    # From 1; incremented by each change.
    version: int
    # title, description, inputSchema, outputSchema, steps and output.
    definition: dict[str, Any]
    # When this version was made.
    createTime: str
    # Versions that exist, the newest first. Only in answers of GetWorkflow.
    versions: list[int]
    # Stands for its present state, for an update that must not overwrite a change of somebody else.
    etag: str


class WorkflowRun(TypedDict, total=False):
    """WorkflowRun is a run of a workflow."""
    runId: str
    workflowName: str
    version: int
    # queued, running, waiting, succeeded, failed or cancelled.
    status: str
    input: dict[str, Any]
    # Result of a run that has succeeded.
    output: Any
    # Why the run has failed or was cancelled.
    error: str
    # Kind of the error, such as invalid, unavailable or deadline.
    errorKind: str
    # Who started the run.
    subject: str
    createTime: str
    startTime: str
    endTime: str
    # Steps in the order in which they began. Only in answers of GetRun, CancelRun and ResumeRun.
    steps: list[StepRun]


class StepRun(TypedDict, total=False):
    """StepRun is a step of a run that has begun."""
    # Path of the step in the run: its id, after those of the steps that it is in, such as
    # each[2].fetch for the third item and sub/search for a step of another workflow.
    path: str
    kind: str
    # running, waiting, succeeded, failed, or cancelled for a step that had not ended when its run did.
    status: str
    # Calls of the step's tool.
    attempts: int
    # Arguments of the step's tool.
    input: Any
    output: Any
    error: str
    errorKind: str
    startTime: str
    endTime: str
    # What a step that waits asks for.
    message: str
    # JSON Schema of the data that it waits for. Empty for any.
    schema: dict[str, Any]
    # When the wait ends.
    waitUntilTime: str


class CreateWorkflowRequest(TypedDict, total=False):
    """The message CreateWorkflowRequest."""
    # 1 to 60 letters, digits, _ and -.
    workflowName: str
    # Required. See docs/reference/workflows.md.
    definition: dict[str, Any]


class GetWorkflowRequest(TypedDict, total=False):
    """The message GetWorkflowRequest."""
    workflowName: str
    # 0 means the latest.
    version: int


class ListWorkflowsRequest(TypedDict, total=False):
    """The message ListWorkflowsRequest."""
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListWorkflowsResponse(TypedDict, total=False):
    """The message ListWorkflowsResponse."""
    workflows: list[Workflow]
    # Empty on the last page.
    nextPageToken: str


class UpdateWorkflowRequest(TypedDict, total=False):
    """The message UpdateWorkflowRequest."""
    workflowName: str
    # Replaces the whole definition.
    definition: dict[str, Any]
    # The etag that was read before: if it is no longer the current one, the update fails with aborted. Empty:
    # updates whatever is there.
    etag: str


class DeleteWorkflowRequest(TypedDict, total=False):
    """The message DeleteWorkflowRequest."""
    workflowName: str
    # The one version to delete. 0 means all.
    version: int


class DeleteWorkflowResponse(TypedDict, total=False):
    """The message DeleteWorkflowResponse."""


class StartWorkflowRequest(TypedDict, total=False):
    """The message StartWorkflowRequest."""
    workflowName: str
    # 0 means the latest.
    version: int
    # Must fit the input schema.
    input: dict[str, Any]


class RunWorkflowRequest(TypedDict, total=False):
    """The message RunWorkflowRequest."""
    workflowName: str
    # 0 means the latest.
    version: int
    # Must fit the input schema.
    input: dict[str, Any]


class WatchRunRequest(TypedDict, total=False):
    """The message WatchRunRequest."""
    runId: str


class RunWorkflowEvent(TypedDict, total=False):
    """The message RunWorkflowEvent."""
    # The run as it is at the beginning, then, as the last message, as it has ended or waits.
    run: WorkflowRun
    # A step that has changed.
    step: StepRun


class GetRunRequest(TypedDict, total=False):
    """The message GetRunRequest."""
    runId: str


class ListRunsRequest(TypedDict, total=False):
    """The message ListRunsRequest."""
    # Only runs of this workflow. Empty for all.
    workflowName: str
    # Only runs in this state. Empty for all.
    status: str
    # 1 to 1000; 0 means 100.
    pageSize: int
    # The next_page_token of the previous page; empty for the first page.
    pageToken: str


class ListRunsResponse(TypedDict, total=False):
    """The message ListRunsResponse."""
    runs: list[WorkflowRun]
    # Empty on the last page.
    nextPageToken: str


class CancelRunRequest(TypedDict, total=False):
    """The message CancelRunRequest."""
    runId: str


class ResumeRunRequest(TypedDict, total=False):
    """The message ResumeRunRequest."""
    runId: str
    # Path of the step. Empty for the only one that waits.
    stepPath: str
    # Must fit the schema of the step, and becomes its output.
    data: Any


class QueryService:
    """QueryService searches an index. Every call needs the scope read."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def vector_query(self, request: VectorQueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> VectorQueryResponse:
        """VectorQuery returns the chunks that match a question best. An empty response means
        that nothing matched. Errors: NOT_FOUND for an unknown index, INVALID_ARGUMENT for a
        malformed filter or a queryVector of another dimension, UNAVAILABLE when the
        embedding model does not answer.
        """
        answer = self._transport.unary("ragd.v1.QueryService/VectorQuery", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("VectorQueryResponse", answer)

    def batch_query(self, request: BatchQueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> BatchQueryResponse:
        """BatchQuery answers up to 100 questions, some at the same time; those that a model embeds are embedded together. Each
        has an answer or an error of its own. It counts as as many requests as it has questions. Errors: INVALID_ARGUMENT for
        more questions, or none.
        """
        answer = self._transport.unary("ragd.v1.QueryService/BatchQuery", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("BatchQueryResponse", answer)

    def rerank(self, request: RerankRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RerankResponse:
        """Rerank scores results against a question and sorts them by the new scores. A result
        that cannot be scored keeps its rank, and a warning is returned. Errors:
        INVALID_ARGUMENT for invalid weights or an unknown model; FAILED_PRECONDITION for a
        provider that is not configured.
        """
        answer = self._transport.unary("ragd.v1.QueryService/Rerank", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RerankResponse", answer)

    def graph_rag(self, request: GraphRagRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GraphRagResponse:
        """GraphRag searches an index by walking its graph: from the results of a search and
        from names in the question, along mentions, reading order and similarity. Errors: as
        VectorQuery.
        """
        answer = self._transport.unary("ragd.v1.QueryService/GraphRag", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GraphRagResponse", answer)

    def list_topics(self, request: ListTopicsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ListTopicsResponse:
        """ListTopics returns what the documents of an index are about: the communities of its
        graph, with the terms that tell each apart. The first call for an index starts a job
        of kind topics and waits for it, up to 20 seconds; from then on topics are found again
        whenever a tenth of the chunks has changed. Errors: NOT_FOUND for an unknown index;
        PERMISSION_DENIED for a credential with a mandatory filter, because topics are found
        over all documents; FAILED_PRECONDITION for an index without a graph; UNAVAILABLE
        while the first job is running.
        """
        answer = self._transport.unary("ragd.v1.QueryService/ListTopics", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ListTopicsResponse", answer)

    def list_edges(self, request: ListEdgesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEdgesResponse:
        """ListEdges returns the edges of the stored graph at a chunk, heaviest first: which chunks a walk
        reaches from it, and from which it is reached. Errors: NOT_FOUND for an unknown index or chunk;
        FAILED_PRECONDITION for an index without a graph.
        """
        answer = self._transport.unary("ragd.v1.QueryService/ListEdges", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEdgesResponse", answer)

    def list_tables(self, request: ListTablesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListTablesResponse:
        """ListTables returns the tables in the documents of an index whose rows are kept as typed columns: of CSV files, spreadsheets, and the
        tables in Markdown, HTML and documents that are read as such. See docs/reference/tables.md. Errors: NOT_FOUND for an unknown index.
        """
        answer = self._transport.unary("ragd.v1.QueryService/ListTables", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListTablesResponse", answer)

    def query_table(self, request: QueryTableRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> QueryTableResponse:
        """QueryTable computes an answer from tables: selects, groups, aggregates, sorts and joins their rows, and names the cells that each
        row of the answer was computed from. Errors: NOT_FOUND for an index or a table that is not there; FAILED_PRECONDITION for a table
        whose rows are not kept; RESOURCE_EXHAUSTED for a question that takes longer than 5 seconds; ABORTED while a table is being replaced.
        """
        answer = self._transport.unary("ragd.v1.QueryService/QueryTable", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("QueryTableResponse", answer)

    def count_chunks(self, request: CountChunksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> CountChunksResponse:
        """CountChunks counts the chunks that a filter selects and the documents they are of, exactly, and with facets how many of
        them have each value of a metadata field. With queryText it counts those that match its words. Nothing is counted that
        the caller may not see. Errors: NOT_FOUND for an unknown index; INVALID_ARGUMENT for a malformed filter or facet;
        RESOURCE_EXHAUSTED for a field with more than 100,000 values, and if counting takes more than 5 s: filter for fewer chunks.
        """
        answer = self._transport.unary("ragd.v1.QueryService/CountChunks", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("CountChunksResponse", answer)

    def suggest(self, request: SuggestRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> SuggestResponse:
        """Suggest completes what is being typed into a search: with titles of documents, questions of which feedback said that an answer was helpful,
        and words of the index. Nothing is suggested that the caller may not see; a credential with a mandatory filter, or a request context
        with a filter, gets no questions. Errors: NOT_FOUND for an unknown index.
        """
        answer = self._transport.unary("ragd.v1.QueryService/Suggest", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("SuggestResponse", answer)

    def check_grounding(self, request: CheckGroundingRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> CheckGroundingResponse:
        """CheckGrounding compares each sentence of an answer with the sources that it may rest on, by rules and without a model: which part of
        a source says it, and which numbers, dates and names no source has. See docs/reference/grounding.md. Errors: INVALID_ARGUMENT, naming
        the field; NOT_FOUND for an index, a chunk or a document.
        """
        answer = self._transport.unary("ragd.v1.QueryService/CheckGrounding", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("CheckGroundingResponse", answer)

    def embed(self, request: EmbedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> EmbedResponse:
        """Embed returns the embeddings of texts, in the order of the texts."""
        answer = self._transport.unary("ragd.v1.QueryService/Embed", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("EmbedResponse", answer)


class AsyncQueryService:
    """QueryService searches an index. Every call needs the scope read."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def vector_query(self, request: VectorQueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> VectorQueryResponse:
        """VectorQuery returns the chunks that match a question best. An empty response means
        that nothing matched. Errors: NOT_FOUND for an unknown index, INVALID_ARGUMENT for a
        malformed filter or a queryVector of another dimension, UNAVAILABLE when the
        embedding model does not answer.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/VectorQuery", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("VectorQueryResponse", answer)

    async def batch_query(self, request: BatchQueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> BatchQueryResponse:
        """BatchQuery answers up to 100 questions, some at the same time; those that a model embeds are embedded together. Each
        has an answer or an error of its own. It counts as as many requests as it has questions. Errors: INVALID_ARGUMENT for
        more questions, or none.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/BatchQuery", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("BatchQueryResponse", answer)

    async def rerank(self, request: RerankRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RerankResponse:
        """Rerank scores results against a question and sorts them by the new scores. A result
        that cannot be scored keeps its rank, and a warning is returned. Errors:
        INVALID_ARGUMENT for invalid weights or an unknown model; FAILED_PRECONDITION for a
        provider that is not configured.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/Rerank", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RerankResponse", answer)

    async def graph_rag(self, request: GraphRagRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GraphRagResponse:
        """GraphRag searches an index by walking its graph: from the results of a search and
        from names in the question, along mentions, reading order and similarity. Errors: as
        VectorQuery.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/GraphRag", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GraphRagResponse", answer)

    async def list_topics(self, request: ListTopicsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ListTopicsResponse:
        """ListTopics returns what the documents of an index are about: the communities of its
        graph, with the terms that tell each apart. The first call for an index starts a job
        of kind topics and waits for it, up to 20 seconds; from then on topics are found again
        whenever a tenth of the chunks has changed. Errors: NOT_FOUND for an unknown index;
        PERMISSION_DENIED for a credential with a mandatory filter, because topics are found
        over all documents; FAILED_PRECONDITION for an index without a graph; UNAVAILABLE
        while the first job is running.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/ListTopics", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ListTopicsResponse", answer)

    async def list_edges(self, request: ListEdgesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEdgesResponse:
        """ListEdges returns the edges of the stored graph at a chunk, heaviest first: which chunks a walk
        reaches from it, and from which it is reached. Errors: NOT_FOUND for an unknown index or chunk;
        FAILED_PRECONDITION for an index without a graph.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/ListEdges", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEdgesResponse", answer)

    async def list_tables(self, request: ListTablesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListTablesResponse:
        """ListTables returns the tables in the documents of an index whose rows are kept as typed columns: of CSV files, spreadsheets, and the
        tables in Markdown, HTML and documents that are read as such. See docs/reference/tables.md. Errors: NOT_FOUND for an unknown index.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/ListTables", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListTablesResponse", answer)

    async def query_table(self, request: QueryTableRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> QueryTableResponse:
        """QueryTable computes an answer from tables: selects, groups, aggregates, sorts and joins their rows, and names the cells that each
        row of the answer was computed from. Errors: NOT_FOUND for an index or a table that is not there; FAILED_PRECONDITION for a table
        whose rows are not kept; RESOURCE_EXHAUSTED for a question that takes longer than 5 seconds; ABORTED while a table is being replaced.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/QueryTable", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("QueryTableResponse", answer)

    async def count_chunks(self, request: CountChunksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> CountChunksResponse:
        """CountChunks counts the chunks that a filter selects and the documents they are of, exactly, and with facets how many of
        them have each value of a metadata field. With queryText it counts those that match its words. Nothing is counted that
        the caller may not see. Errors: NOT_FOUND for an unknown index; INVALID_ARGUMENT for a malformed filter or facet;
        RESOURCE_EXHAUSTED for a field with more than 100,000 values, and if counting takes more than 5 s: filter for fewer chunks.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/CountChunks", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("CountChunksResponse", answer)

    async def suggest(self, request: SuggestRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> SuggestResponse:
        """Suggest completes what is being typed into a search: with titles of documents, questions of which feedback said that an answer was helpful,
        and words of the index. Nothing is suggested that the caller may not see; a credential with a mandatory filter, or a request context
        with a filter, gets no questions. Errors: NOT_FOUND for an unknown index.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/Suggest", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("SuggestResponse", answer)

    async def check_grounding(self, request: CheckGroundingRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> CheckGroundingResponse:
        """CheckGrounding compares each sentence of an answer with the sources that it may rest on, by rules and without a model: which part of
        a source says it, and which numbers, dates and names no source has. See docs/reference/grounding.md. Errors: INVALID_ARGUMENT, naming
        the field; NOT_FOUND for an index, a chunk or a document.
        """
        answer = await self._transport.unary("ragd.v1.QueryService/CheckGrounding", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("CheckGroundingResponse", answer)

    async def embed(self, request: EmbedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> EmbedResponse:
        """Embed returns the embeddings of texts, in the order of the texts."""
        answer = await self._transport.unary("ragd.v1.QueryService/Embed", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("EmbedResponse", answer)


class AgentService:
    """AgentService stores a tenant's agents and asks them questions. An agent is a chat model that is
    offered chosen tools, with instructions and limits; its answers cite passages. Over MCP each agent
    is the tool ask_NAME. Changing agents needs the scope write and a credential without a mandatory
    filter or bounds; asking them needs the scope read. A credential that is bound to tools asks with the
    tool ask_NAME, over MCP or with CallTool.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_agent(self, request: CreateAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Agent:
        """CreateAgent stores a new agent. Errors: INVALID_ARGUMENT, naming the field; ALREADY_EXISTS;
        RESOURCE_EXHAUSTED for too many agents.
        """
        answer = self._transport.unary("ragd.v1.AgentService/CreateAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Agent", answer)

    def get_agent(self, request: GetAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Agent:
        """GetAgent returns an agent. Errors: NOT_FOUND, also for one that the credential may not use."""
        answer = self._transport.unary("ragd.v1.AgentService/GetAgent", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Agent", answer)

    def list_agents(self, request: ListAgentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAgentsResponse:
        """ListAgents returns the agents that the credential may use, in the order of their names."""
        answer = self._transport.unary("ragd.v1.AgentService/ListAgents", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAgentsResponse", answer)

    def update_agent(self, request: UpdateAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Agent:
        """UpdateAgent replaces the definition of an agent. Errors: as CreateAgent, and NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.AgentService/UpdateAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Agent", answer)

    def delete_agent(self, request: DeleteAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteAgentResponse:
        """DeleteAgent deletes an agent with its threads. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.AgentService/DeleteAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteAgentResponse", answer)

    def ask_agent(self, request: AskAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> AskAgentResponse:
        """AskAgent returns the answer of an agent. Its tools run with the rights, the mandatory filter
        and the indexes of the caller. Errors: NOT_FOUND; INVALID_ARGUMENT for a message that is empty
        or too long, or a malformed thread id; FAILED_PRECONDITION when the definition does not work
        for the request, such as a condition that cannot be evaluated; RESOURCE_EXHAUSTED when the
        steps, tokens or cost of the agent are used up, or the model is called too often;
        DEADLINE_EXCEEDED; UNAVAILABLE when the model does not answer, or not in JSON of the output
        schema.
        """
        answer = self._transport.unary("ragd.v1.AgentService/AskAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("AskAgentResponse", answer)

    def ask_agent_stream(self, request: AskAgentStreamRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[AskAgentEvent]:
        """AskAgentStream is AskAgent with the steps, the calls of tools and the pieces of the text as they
        happen. The last event is the answer.
        """
        answer = self._transport.server_stream("ragd.v1.AgentService/AskAgentStream", request or {}, timeout=timeout, context=context)
        return cast("Iterator[AskAgentEvent]", answer)

    def get_thread(self, request: GetThreadRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Thread:
        """GetThread returns a conversation of the caller with an agent. Errors: NOT_FOUND, also for a
        conversation of another caller.
        """
        answer = self._transport.unary("ragd.v1.AgentService/GetThread", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Thread", answer)

    def list_threads(self, request: ListThreadsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListThreadsResponse:
        """ListThreads returns the caller's conversations with an agent in the order of their ids, without
        messages.
        """
        answer = self._transport.unary("ragd.v1.AgentService/ListThreads", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListThreadsResponse", answer)

    def delete_thread(self, request: DeleteThreadRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteThreadResponse:
        """DeleteThread deletes a conversation of the caller with an agent, if it exists."""
        answer = self._transport.unary("ragd.v1.AgentService/DeleteThread", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteThreadResponse", answer)


class AsyncAgentService:
    """AgentService stores a tenant's agents and asks them questions. An agent is a chat model that is
    offered chosen tools, with instructions and limits; its answers cite passages. Over MCP each agent
    is the tool ask_NAME. Changing agents needs the scope write and a credential without a mandatory
    filter or bounds; asking them needs the scope read. A credential that is bound to tools asks with the
    tool ask_NAME, over MCP or with CallTool.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_agent(self, request: CreateAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Agent:
        """CreateAgent stores a new agent. Errors: INVALID_ARGUMENT, naming the field; ALREADY_EXISTS;
        RESOURCE_EXHAUSTED for too many agents.
        """
        answer = await self._transport.unary("ragd.v1.AgentService/CreateAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Agent", answer)

    async def get_agent(self, request: GetAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Agent:
        """GetAgent returns an agent. Errors: NOT_FOUND, also for one that the credential may not use."""
        answer = await self._transport.unary("ragd.v1.AgentService/GetAgent", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Agent", answer)

    async def list_agents(self, request: ListAgentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAgentsResponse:
        """ListAgents returns the agents that the credential may use, in the order of their names."""
        answer = await self._transport.unary("ragd.v1.AgentService/ListAgents", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAgentsResponse", answer)

    async def update_agent(self, request: UpdateAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Agent:
        """UpdateAgent replaces the definition of an agent. Errors: as CreateAgent, and NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.AgentService/UpdateAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Agent", answer)

    async def delete_agent(self, request: DeleteAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteAgentResponse:
        """DeleteAgent deletes an agent with its threads. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.AgentService/DeleteAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteAgentResponse", answer)

    async def ask_agent(self, request: AskAgentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> AskAgentResponse:
        """AskAgent returns the answer of an agent. Its tools run with the rights, the mandatory filter
        and the indexes of the caller. Errors: NOT_FOUND; INVALID_ARGUMENT for a message that is empty
        or too long, or a malformed thread id; FAILED_PRECONDITION when the definition does not work
        for the request, such as a condition that cannot be evaluated; RESOURCE_EXHAUSTED when the
        steps, tokens or cost of the agent are used up, or the model is called too often;
        DEADLINE_EXCEEDED; UNAVAILABLE when the model does not answer, or not in JSON of the output
        schema.
        """
        answer = await self._transport.unary("ragd.v1.AgentService/AskAgent", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("AskAgentResponse", answer)

    def ask_agent_stream(self, request: AskAgentStreamRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[AskAgentEvent]:
        """AskAgentStream is AskAgent with the steps, the calls of tools and the pieces of the text as they
        happen. The last event is the answer.
        """
        answer = self._transport.server_stream("ragd.v1.AgentService/AskAgentStream", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[AskAgentEvent]", answer)

    async def get_thread(self, request: GetThreadRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Thread:
        """GetThread returns a conversation of the caller with an agent. Errors: NOT_FOUND, also for a
        conversation of another caller.
        """
        answer = await self._transport.unary("ragd.v1.AgentService/GetThread", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Thread", answer)

    async def list_threads(self, request: ListThreadsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListThreadsResponse:
        """ListThreads returns the caller's conversations with an agent in the order of their ids, without
        messages.
        """
        answer = await self._transport.unary("ragd.v1.AgentService/ListThreads", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListThreadsResponse", answer)

    async def delete_thread(self, request: DeleteThreadRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteThreadResponse:
        """DeleteThread deletes a conversation of the caller with an agent, if it exists."""
        answer = await self._transport.unary("ragd.v1.AgentService/DeleteThread", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteThreadResponse", answer)


class AlertService:
    """AlertService manages standing questions. Each passage of a document that is ingested, and is
    new or has another text than before, is compared with the alerts of its index. A match is
    stored with the passage, in the same transaction, so that it is neither lost nor repeated:
    as an event of the type alert.matched, which hooks and WatchEvents deliver, and for
    ListAlertMatches. Ready-made vectors of VectorService are not compared.
    
    An alert keeps the rights of the credential that made it: its mandatory filter, its indexes
    and those of its MCP server. It ends when that API key is revoked or expires, and when an
    access token expires. Callers see their own alerts; those of others too with the scope admin
    and without a mandatory filter and bounds.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_alert(self, request: CreateAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Alert:
        """CreateAlert stores a question for an index. Passages that are there already do not match.
        Needs the scope read. Errors: INVALID_ARGUMENT; NOT_FOUND for the index;
        RESOURCE_EXHAUSTED when the tenant has too many alerts.
        """
        answer = self._transport.unary("ragd.v1.AlertService/CreateAlert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Alert", answer)

    def get_alert(self, request: GetAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Alert:
        """GetAlert returns an alert. Errors: NOT_FOUND, also for one that the caller may not see."""
        answer = self._transport.unary("ragd.v1.AlertService/GetAlert", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Alert", answer)

    def list_alerts(self, request: ListAlertsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAlertsResponse:
        """ListAlerts returns the alerts that the caller may see, the newest first."""
        answer = self._transport.unary("ragd.v1.AlertService/ListAlerts", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAlertsResponse", answer)

    def update_alert(self, request: UpdateAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Alert:
        """UpdateAlert changes the given fields of an alert of the caller and leaves the others. It
        holds for passages from then on; the alert takes the rights that the caller has now. Errors:
        as CreateAlert and GetAlert; PERMISSION_DENIED for an alert of another credential.
        """
        answer = self._transport.unary("ragd.v1.AlertService/UpdateAlert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Alert", answer)

    def delete_alert(self, request: DeleteAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteAlertResponse:
        """DeleteAlert deletes an alert with its matches. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.AlertService/DeleteAlert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteAlertResponse", answer)

    def preview_alert(self, request: PreviewAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> PreviewAlertResponse:
        """PreviewAlert compares the passages that are in the index, instead of new ones, with a question:
        it says which of them CreateAlert's alert would match if they were ingested now, and stores
        nothing. It looks at the newest 10,000 passages that the filter selects, and sees what the
        caller may see. Needs the scope read. Errors: INVALID_ARGUMENT; NOT_FOUND for the index.
        """
        answer = self._transport.unary("ragd.v1.AlertService/PreviewAlert", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("PreviewAlertResponse", answer)

    def list_alert_matches(self, request: ListAlertMatchesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAlertMatchesResponse:
        """ListAlertMatches returns the passages that matched, the newest first: those that are still
        in the index and that the caller and the alert may see. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.AlertService/ListAlertMatches", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAlertMatchesResponse", answer)


class AsyncAlertService:
    """AlertService manages standing questions. Each passage of a document that is ingested, and is
    new or has another text than before, is compared with the alerts of its index. A match is
    stored with the passage, in the same transaction, so that it is neither lost nor repeated:
    as an event of the type alert.matched, which hooks and WatchEvents deliver, and for
    ListAlertMatches. Ready-made vectors of VectorService are not compared.
    
    An alert keeps the rights of the credential that made it: its mandatory filter, its indexes
    and those of its MCP server. It ends when that API key is revoked or expires, and when an
    access token expires. Callers see their own alerts; those of others too with the scope admin
    and without a mandatory filter and bounds.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_alert(self, request: CreateAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Alert:
        """CreateAlert stores a question for an index. Passages that are there already do not match.
        Needs the scope read. Errors: INVALID_ARGUMENT; NOT_FOUND for the index;
        RESOURCE_EXHAUSTED when the tenant has too many alerts.
        """
        answer = await self._transport.unary("ragd.v1.AlertService/CreateAlert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Alert", answer)

    async def get_alert(self, request: GetAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Alert:
        """GetAlert returns an alert. Errors: NOT_FOUND, also for one that the caller may not see."""
        answer = await self._transport.unary("ragd.v1.AlertService/GetAlert", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Alert", answer)

    async def list_alerts(self, request: ListAlertsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAlertsResponse:
        """ListAlerts returns the alerts that the caller may see, the newest first."""
        answer = await self._transport.unary("ragd.v1.AlertService/ListAlerts", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAlertsResponse", answer)

    async def update_alert(self, request: UpdateAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Alert:
        """UpdateAlert changes the given fields of an alert of the caller and leaves the others. It
        holds for passages from then on; the alert takes the rights that the caller has now. Errors:
        as CreateAlert and GetAlert; PERMISSION_DENIED for an alert of another credential.
        """
        answer = await self._transport.unary("ragd.v1.AlertService/UpdateAlert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Alert", answer)

    async def delete_alert(self, request: DeleteAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteAlertResponse:
        """DeleteAlert deletes an alert with its matches. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.AlertService/DeleteAlert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteAlertResponse", answer)

    async def preview_alert(self, request: PreviewAlertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> PreviewAlertResponse:
        """PreviewAlert compares the passages that are in the index, instead of new ones, with a question:
        it says which of them CreateAlert's alert would match if they were ingested now, and stores
        nothing. It looks at the newest 10,000 passages that the filter selects, and sees what the
        caller may see. Needs the scope read. Errors: INVALID_ARGUMENT; NOT_FOUND for the index.
        """
        answer = await self._transport.unary("ragd.v1.AlertService/PreviewAlert", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("PreviewAlertResponse", answer)

    async def list_alert_matches(self, request: ListAlertMatchesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAlertMatchesResponse:
        """ListAlertMatches returns the passages that matched, the newest first: those that are still
        in the index and that the caller and the alert may see. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.AlertService/ListAlertMatches", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAlertMatchesResponse", answer)


class UsageService:
    """UsageService says how much tenants used. Calls need the scope admin, and a credential without a
    mandatory filter and without bounds. An operator sees the tenant that Ragd-Tenant names, or
    without it all of them.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list_usage(self, request: ListUsageRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListUsageResponse:
        """ListUsage returns what was used in a time, by hours, days or months, in the order of time,
        tenant, index, stage and model. Counts arrive within some seconds, those of ingested
        documents at once.
        """
        answer = self._transport.unary("ragd.v1.UsageService/ListUsage", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListUsageResponse", answer)

    def get_quotas(self, request: GetQuotasRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetQuotasResponse:
        """GetQuotas returns the plan and the quotas of the tenant, where they come from, and what is used of them. An operator
        must name the tenant in Ragd-Tenant.
        """
        answer = self._transport.unary("ragd.v1.UsageService/GetQuotas", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetQuotasResponse", answer)


class AsyncUsageService:
    """UsageService says how much tenants used. Calls need the scope admin, and a credential without a
    mandatory filter and without bounds. An operator sees the tenant that Ragd-Tenant names, or
    without it all of them.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list_usage(self, request: ListUsageRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListUsageResponse:
        """ListUsage returns what was used in a time, by hours, days or months, in the order of time,
        tenant, index, stage and model. Counts arrive within some seconds, those of ingested
        documents at once.
        """
        answer = await self._transport.unary("ragd.v1.UsageService/ListUsage", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListUsageResponse", answer)

    async def get_quotas(self, request: GetQuotasRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetQuotasResponse:
        """GetQuotas returns the plan and the quotas of the tenant, where they come from, and what is used of them. An operator
        must name the tenant in Ragd-Tenant.
        """
        answer = await self._transport.unary("ragd.v1.UsageService/GetQuotas", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetQuotasResponse", answer)


class TenantService:
    """TenantService manages tenants and their API keys. Calls need a credential with the
    scope operator; calls on API keys and names of vector stores also accept the scope admin for
    the caller's own tenant, and WhoAmI any credential.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_tenant(self, request: CreateTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """CreateTenant creates a tenant with its own schema and database role. Errors:
        ALREADY_EXISTS; INVALID_ARGUMENT for a malformed tenantId; NOT_FOUND for a plan that does not exist and
        for a database that is not registered; UNAVAILABLE for one that does not answer.
        """
        answer = self._transport.unary("ragd.v1.TenantService/CreateTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    def get_tenant(self, request: GetTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Tenant:
        """GetTenant returns a tenant. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.TenantService/GetTenant", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Tenant", answer)

    def list_tenants(self, request: ListTenantsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListTenantsResponse:
        """ListTenants returns the tenants in the order of their ids."""
        answer = self._transport.unary("ragd.v1.TenantService/ListTenants", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListTenantsResponse", answer)

    def update_tenant(self, request: UpdateTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """UpdateTenant changes the given fields and leaves the others. Errors: NOT_FOUND, also for a plan; INVALID_ARGUMENT."""
        answer = self._transport.unary("ragd.v1.TenantService/UpdateTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    def delete_tenant(self, request: DeleteTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteTenantResponse:
        """DeleteTenant deletes the tenant and everything that it owns: schema, documents, role, API keys and jobs. Its keys are
        rejected at once, and its work rests. RestoreTenant undoes it within the retention of deletedRetention in the tenant's
        settings, its plan, or the service; then the tenant is erased. With erase, and without a retention, it is
        erased at once, and the call searches the database for what is left, and answers with what it deleted and what it kept.
        Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.TenantService/DeleteTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteTenantResponse", answer)

    def restore_tenant(self, request: RestoreTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """RestoreTenant undoes DeleteTenant: the tenant has its documents, settings and keys as before, and its work goes on. Needs the
        operator's key. Errors: NOT_FOUND, also once it is erased; FAILED_PRECONDITION for a tenant that is not deleted.
        """
        answer = self._transport.unary("ragd.v1.TenantService/RestoreTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    def repair_tenant(self, request: RepairTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RepairTenantResponse:
        """RepairTenant makes a tenant usable that cannot be served because its database role is missing or
        its schema belongs to another one, as after a backup was restored into a running service. It
        changes nothing for a tenant that can be served. Needs the operator's key. Errors: NOT_FOUND;
        FAILED_PRECONDITION for a schema that is missing, or that the service may not change.
        """
        answer = self._transport.unary("ragd.v1.TenantService/RepairTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RepairTenantResponse", answer)

    def move_tenant(self, request: MoveTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TenantMove:
        """MoveTenant begins to move a tenant to another database of the service, and returns at once. The tenant is used
        meanwhile: its reads go on, and its writes are refused with UNAVAILABLE for a moment before the switch. Afterwards the
        old database keeps a copy for a time. Needs the operator's key. Errors: NOT_FOUND for the tenant and the
        database; UNAVAILABLE when the database is down; FAILED_PRECONDITION if the tenant lives there, or is being
        moved already.
        """
        answer = self._transport.unary("ragd.v1.TenantService/MoveTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TenantMove", answer)

    def get_tenant_move(self, request: GetTenantMoveRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> TenantMove:
        """GetTenantMove returns how far a move is. Needs the operator's key. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.TenantService/GetTenantMove", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("TenantMove", answer)

    def list_tenant_moves(self, request: ListTenantMovesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListTenantMovesResponse:
        """ListTenantMoves returns the moves of tenants that exist, newest first. Needs the operator's key."""
        answer = self._transport.unary("ragd.v1.TenantService/ListTenantMoves", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListTenantMovesResponse", answer)

    def sleep_tenant(self, request: SleepTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """SleepTenant puts a tenant to sleep, and answers when it is: its data is written to an archive outside the database, which is
        encrypted with a key of its own, and dropped from the database. Its first call wakes it. Until it is asleep its reads go on
        and its writes are refused with UNAVAILABLE. A tenant that is asleep stays as it is. Needs the operator's key. Errors:
        NOT_FOUND; FAILED_PRECONDITION while the tenant has work that has not ended or is scheduled, while it is moved, if it lives in
        another database than main, and for a service without a storage of archives or without a master key; ABORTED while another
        call changes the tenant.
        """
        answer = self._transport.unary("ragd.v1.TenantService/SleepTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    def wake_tenant(self, request: WakeTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """WakeTenant wakes a tenant, and answers when it is awake. A tenant that is awake stays as it is. Needs the operator's key.
        Errors: NOT_FOUND; FAILED_PRECONDITION if the archive is missing, was altered, or is encrypted with a master key that
        the service does not have; ABORTED while another instance wakes it; RESOURCE_EXHAUSTED without space on the disk.
        """
        answer = self._transport.unary("ragd.v1.TenantService/WakeTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    def reencrypt_secrets(self, request: ReencryptSecretsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ReencryptSecretsResponse:
        """ReencryptSecrets encrypts everything that master keys encrypt with the first of them: keys
        of endpoints, secrets, and secrets of hooks of all tenants, and the service's own signing
        keys. Afterwards the other master keys are no longer needed. It may be repeated. Needs the
        operator's key. Errors: FAILED_PRECONDITION without master keys.
        """
        answer = self._transport.unary("ragd.v1.TenantService/ReencryptSecrets", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ReencryptSecretsResponse", answer)

    def create_api_key(self, request: CreateApiKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> CreateApiKeyResponse:
        """CreateApiKey creates an API key. Its secret is returned only here: the service stores
        only a hash.
        """
        answer = self._transport.unary("ragd.v1.TenantService/CreateApiKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("CreateApiKeyResponse", answer)

    def list_api_keys(self, request: ListApiKeysRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListApiKeysResponse:
        """ListApiKeys returns a tenant's keys, newest first, revoked ones included."""
        answer = self._transport.unary("ragd.v1.TenantService/ListApiKeys", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListApiKeysResponse", answer)

    def revoke_api_key(self, request: RevokeApiKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RevokeApiKeyResponse:
        """RevokeApiKey revokes a key: at once on this instance, within seconds on all others.
        Revoking a revoked key is no error.
        """
        answer = self._transport.unary("ragd.v1.TenantService/RevokeApiKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RevokeApiKeyResponse", answer)

    def set_vector_store_names(self, request: SetVectorStoreNamesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SetVectorStoreNamesResponse:
        """SetVectorStoreNames replaces the names that the caller's tenant gives its vector store beside
        ragd, pgvector, pinecone and chroma: a vectorStoreName may be one of them. It needs a
        credential without a mandatory filter and without bounds. Errors: INVALID_ARGUMENT for a
        malformed name, a repeated one, and more than 16.
        """
        answer = self._transport.unary("ragd.v1.TenantService/SetVectorStoreNames", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SetVectorStoreNamesResponse", answer)

    def get_vector_store_names(self, request: GetVectorStoreNamesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetVectorStoreNamesResponse:
        """GetVectorStoreNames returns these names. It needs the scope read."""
        answer = self._transport.unary("ragd.v1.TenantService/GetVectorStoreNames", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetVectorStoreNamesResponse", answer)

    def who_am_i(self, request: WhoAmIRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> WhoAmIResponse:
        """WhoAmI returns what the caller's credential is and what it may do. It needs no scope."""
        answer = self._transport.unary("ragd.v1.TenantService/WhoAmI", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("WhoAmIResponse", answer)


class AsyncTenantService:
    """TenantService manages tenants and their API keys. Calls need a credential with the
    scope operator; calls on API keys and names of vector stores also accept the scope admin for
    the caller's own tenant, and WhoAmI any credential.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_tenant(self, request: CreateTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """CreateTenant creates a tenant with its own schema and database role. Errors:
        ALREADY_EXISTS; INVALID_ARGUMENT for a malformed tenantId; NOT_FOUND for a plan that does not exist and
        for a database that is not registered; UNAVAILABLE for one that does not answer.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/CreateTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    async def get_tenant(self, request: GetTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Tenant:
        """GetTenant returns a tenant. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.TenantService/GetTenant", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Tenant", answer)

    async def list_tenants(self, request: ListTenantsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListTenantsResponse:
        """ListTenants returns the tenants in the order of their ids."""
        answer = await self._transport.unary("ragd.v1.TenantService/ListTenants", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListTenantsResponse", answer)

    async def update_tenant(self, request: UpdateTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """UpdateTenant changes the given fields and leaves the others. Errors: NOT_FOUND, also for a plan; INVALID_ARGUMENT."""
        answer = await self._transport.unary("ragd.v1.TenantService/UpdateTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    async def delete_tenant(self, request: DeleteTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteTenantResponse:
        """DeleteTenant deletes the tenant and everything that it owns: schema, documents, role, API keys and jobs. Its keys are
        rejected at once, and its work rests. RestoreTenant undoes it within the retention of deletedRetention in the tenant's
        settings, its plan, or the service; then the tenant is erased. With erase, and without a retention, it is
        erased at once, and the call searches the database for what is left, and answers with what it deleted and what it kept.
        Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/DeleteTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteTenantResponse", answer)

    async def restore_tenant(self, request: RestoreTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """RestoreTenant undoes DeleteTenant: the tenant has its documents, settings and keys as before, and its work goes on. Needs the
        operator's key. Errors: NOT_FOUND, also once it is erased; FAILED_PRECONDITION for a tenant that is not deleted.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/RestoreTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    async def repair_tenant(self, request: RepairTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RepairTenantResponse:
        """RepairTenant makes a tenant usable that cannot be served because its database role is missing or
        its schema belongs to another one, as after a backup was restored into a running service. It
        changes nothing for a tenant that can be served. Needs the operator's key. Errors: NOT_FOUND;
        FAILED_PRECONDITION for a schema that is missing, or that the service may not change.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/RepairTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RepairTenantResponse", answer)

    async def move_tenant(self, request: MoveTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TenantMove:
        """MoveTenant begins to move a tenant to another database of the service, and returns at once. The tenant is used
        meanwhile: its reads go on, and its writes are refused with UNAVAILABLE for a moment before the switch. Afterwards the
        old database keeps a copy for a time. Needs the operator's key. Errors: NOT_FOUND for the tenant and the
        database; UNAVAILABLE when the database is down; FAILED_PRECONDITION if the tenant lives there, or is being
        moved already.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/MoveTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TenantMove", answer)

    async def get_tenant_move(self, request: GetTenantMoveRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> TenantMove:
        """GetTenantMove returns how far a move is. Needs the operator's key. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.TenantService/GetTenantMove", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("TenantMove", answer)

    async def list_tenant_moves(self, request: ListTenantMovesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListTenantMovesResponse:
        """ListTenantMoves returns the moves of tenants that exist, newest first. Needs the operator's key."""
        answer = await self._transport.unary("ragd.v1.TenantService/ListTenantMoves", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListTenantMovesResponse", answer)

    async def sleep_tenant(self, request: SleepTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """SleepTenant puts a tenant to sleep, and answers when it is: its data is written to an archive outside the database, which is
        encrypted with a key of its own, and dropped from the database. Its first call wakes it. Until it is asleep its reads go on
        and its writes are refused with UNAVAILABLE. A tenant that is asleep stays as it is. Needs the operator's key. Errors:
        NOT_FOUND; FAILED_PRECONDITION while the tenant has work that has not ended or is scheduled, while it is moved, if it lives in
        another database than main, and for a service without a storage of archives or without a master key; ABORTED while another
        call changes the tenant.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/SleepTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    async def wake_tenant(self, request: WakeTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tenant:
        """WakeTenant wakes a tenant, and answers when it is awake. A tenant that is awake stays as it is. Needs the operator's key.
        Errors: NOT_FOUND; FAILED_PRECONDITION if the archive is missing, was altered, or is encrypted with a master key that
        the service does not have; ABORTED while another instance wakes it; RESOURCE_EXHAUSTED without space on the disk.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/WakeTenant", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tenant", answer)

    async def reencrypt_secrets(self, request: ReencryptSecretsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ReencryptSecretsResponse:
        """ReencryptSecrets encrypts everything that master keys encrypt with the first of them: keys
        of endpoints, secrets, and secrets of hooks of all tenants, and the service's own signing
        keys. Afterwards the other master keys are no longer needed. It may be repeated. Needs the
        operator's key. Errors: FAILED_PRECONDITION without master keys.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/ReencryptSecrets", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ReencryptSecretsResponse", answer)

    async def create_api_key(self, request: CreateApiKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> CreateApiKeyResponse:
        """CreateApiKey creates an API key. Its secret is returned only here: the service stores
        only a hash.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/CreateApiKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("CreateApiKeyResponse", answer)

    async def list_api_keys(self, request: ListApiKeysRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListApiKeysResponse:
        """ListApiKeys returns a tenant's keys, newest first, revoked ones included."""
        answer = await self._transport.unary("ragd.v1.TenantService/ListApiKeys", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListApiKeysResponse", answer)

    async def revoke_api_key(self, request: RevokeApiKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RevokeApiKeyResponse:
        """RevokeApiKey revokes a key: at once on this instance, within seconds on all others.
        Revoking a revoked key is no error.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/RevokeApiKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RevokeApiKeyResponse", answer)

    async def set_vector_store_names(self, request: SetVectorStoreNamesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SetVectorStoreNamesResponse:
        """SetVectorStoreNames replaces the names that the caller's tenant gives its vector store beside
        ragd, pgvector, pinecone and chroma: a vectorStoreName may be one of them. It needs a
        credential without a mandatory filter and without bounds. Errors: INVALID_ARGUMENT for a
        malformed name, a repeated one, and more than 16.
        """
        answer = await self._transport.unary("ragd.v1.TenantService/SetVectorStoreNames", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SetVectorStoreNamesResponse", answer)

    async def get_vector_store_names(self, request: GetVectorStoreNamesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetVectorStoreNamesResponse:
        """GetVectorStoreNames returns these names. It needs the scope read."""
        answer = await self._transport.unary("ragd.v1.TenantService/GetVectorStoreNames", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetVectorStoreNamesResponse", answer)

    async def who_am_i(self, request: WhoAmIRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> WhoAmIResponse:
        """WhoAmI returns what the caller's credential is and what it may do. It needs no scope."""
        answer = await self._transport.unary("ragd.v1.TenantService/WhoAmI", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("WhoAmIResponse", answer)


class ArchiveService:
    """ArchiveService exports tenants as archives and imports them, in this service or another one, while other
    tenants are served. docs/reference/archive.md says what an archive has. Calls need a credential with
    the scope operator.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def export_tenant(self, request: ExportTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[ExportTenantResponse]:
        """ExportTenant sends everything of a tenant, from one snapshot of the database. A call that was cut off is made
        again with known_frames, so that nothing that has arrived is sent again; that
        also works after a restart and with another instance, and what has changed meanwhile is sent. Errors: NOT_FOUND; ABORTED when an index was emptied or deleted during
        the call; RESOURCE_EXHAUSTED when this instance makes 2 exports already; DEADLINE_EXCEEDED after 12 hours.
        """
        answer = self._transport.server_stream("ragd.v1.ArchiveService/ExportTenant", request or {}, timeout=timeout, context=context)
        return cast("Iterator[ExportTenantResponse]", answer)

    def import_tenant(self, requests: Iterable[ImportTenantRequest], *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ImportTenantResponse:
        """ImportTenant makes a tenant from an archive. The first message has options, all others data. Nobody sees the tenant
        before the call has ended without an error. When a call fails or is cut off, GetImport says how much is
        stored, and another call with resume goes on; DeleteTenant gives the import up. Errors: INVALID_ARGUMENT for what is no archive, is
        damaged, which names the frame, or was made by a newer ragd; ALREADY_EXISTS; ABORTED when another call goes on
        with the same import; RESOURCE_EXHAUSTED without space, and when this instance makes 2 imports already.
        """
        answer = self._transport.client_stream("ragd.v1.ArchiveService/ImportTenant", requests, timeout=timeout, context=context)
        return cast("ImportTenantResponse", answer)

    def get_import(self, request: GetImportRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> TenantImport:
        """GetImport says how far the import of a tenant is. Errors: NOT_FOUND, also when it has ended."""
        answer = self._transport.unary("ragd.v1.ArchiveService/GetImport", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("TenantImport", answer)


class AsyncArchiveService:
    """ArchiveService exports tenants as archives and imports them, in this service or another one, while other
    tenants are served. docs/reference/archive.md says what an archive has. Calls need a credential with
    the scope operator.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def export_tenant(self, request: ExportTenantRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[ExportTenantResponse]:
        """ExportTenant sends everything of a tenant, from one snapshot of the database. A call that was cut off is made
        again with known_frames, so that nothing that has arrived is sent again; that
        also works after a restart and with another instance, and what has changed meanwhile is sent. Errors: NOT_FOUND; ABORTED when an index was emptied or deleted during
        the call; RESOURCE_EXHAUSTED when this instance makes 2 exports already; DEADLINE_EXCEEDED after 12 hours.
        """
        answer = self._transport.server_stream("ragd.v1.ArchiveService/ExportTenant", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[ExportTenantResponse]", answer)

    async def import_tenant(self, requests: AsyncIterable[ImportTenantRequest], *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ImportTenantResponse:
        """ImportTenant makes a tenant from an archive. The first message has options, all others data. Nobody sees the tenant
        before the call has ended without an error. When a call fails or is cut off, GetImport says how much is
        stored, and another call with resume goes on; DeleteTenant gives the import up. Errors: INVALID_ARGUMENT for what is no archive, is
        damaged, which names the frame, or was made by a newer ragd; ALREADY_EXISTS; ABORTED when another call goes on
        with the same import; RESOURCE_EXHAUSTED without space, and when this instance makes 2 imports already.
        """
        answer = await self._transport.client_stream("ragd.v1.ArchiveService/ImportTenant", requests, timeout=timeout, context=context)
        return cast("ImportTenantResponse", answer)

    async def get_import(self, request: GetImportRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> TenantImport:
        """GetImport says how far the import of a tenant is. Errors: NOT_FOUND, also when it has ended."""
        answer = await self._transport.unary("ragd.v1.ArchiveService/GetImport", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("TenantImport", answer)


class AuditService:
    """AuditService says who did what. Calls need the scope admin, and a credential without a mandatory
    filter and without bounds. An operator sees what is about the tenant that Ragd-Tenant names, or
    without it everything.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list_audit_entries(self, request: ListAuditEntriesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAuditEntriesResponse:
        """ListAuditEntries returns the entries of the audit log, newest first. Administrative actions are
        there at once, denied calls within a minute.
        """
        answer = self._transport.unary("ragd.v1.AuditService/ListAuditEntries", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAuditEntriesResponse", answer)


class AsyncAuditService:
    """AuditService says who did what. Calls need the scope admin, and a credential without a mandatory
    filter and without bounds. An operator sees what is about the tenant that Ragd-Tenant names, or
    without it everything.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list_audit_entries(self, request: ListAuditEntriesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListAuditEntriesResponse:
        """ListAuditEntries returns the entries of the audit log, newest first. Administrative actions are
        there at once, denied calls within a minute.
        """
        answer = await self._transport.unary("ragd.v1.AuditService/ListAuditEntries", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListAuditEntriesResponse", answer)


class ChunkService:
    """ChunkService splits texts without storing anything."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def chunk_text(self, request: ChunkTextRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ChunkTextResponse:
        """ChunkText returns the chunks of a text, in order. The default of maxSize is 4000
        here, as in other chunkers, and 800 for uploads, which suits retrieval. With the field
        upload it is a preview of an upload instead. Errors: INVALID_ARGUMENT, naming the
        invalid option or the position in the text; NOT_FOUND for an unknown index.
        """
        answer = self._transport.unary("ragd.v1.ChunkService/ChunkText", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ChunkTextResponse", answer)


class AsyncChunkService:
    """ChunkService splits texts without storing anything."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def chunk_text(self, request: ChunkTextRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ChunkTextResponse:
        """ChunkText returns the chunks of a text, in order. The default of maxSize is 4000
        here, as in other chunkers, and 800 for uploads, which suits retrieval. With the field
        upload it is a preview of an upload instead. Errors: INVALID_ARGUMENT, naming the
        invalid option or the position in the text; NOT_FOUND for an unknown index.
        """
        answer = await self._transport.unary("ragd.v1.ChunkService/ChunkText", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ChunkTextResponse", answer)


class ConnectorService:
    """ConnectorService manages a tenant's connectors. A connector keeps documents of an index the
    same as the items of a source, such as the pages of a website: it adds new items, updates
    changed ones and deletes the documents of items that are gone.
    
    All calls need the scope admin and a credential without a mandatory filter and without
    bounds. A connector runs with the rights of the credential that created or last updated it,
    and fails when this is revoked.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_connector(self, request: CreateConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """CreateConnector creates a connector. It runs at once, unless it is paused. Errors:
        ALREADY_EXISTS; INVALID_ARGUMENT; NOT_FOUND for the index or a secret; FAILED_PRECONDITION for an
        address inside the network of the service; RESOURCE_EXHAUSTED when the tenant has too many.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/CreateConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    def get_connector(self, request: GetConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Connector:
        """GetConnector returns a connector, with its last run. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.ConnectorService/GetConnector", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Connector", answer)

    def list_connectors(self, request: ListConnectorsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListConnectorsResponse:
        """ListConnectors returns the connectors in the order of their names."""
        answer = self._transport.unary("ragd.v1.ConnectorService/ListConnectors", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListConnectorsResponse", answer)

    def update_connector(self, request: UpdateConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """UpdateConnector changes the given fields and leaves the others. It starts a run that reads all
        items again, unless the connector is paused. Errors: as CreateConnector; NOT_FOUND; ABORTED when another call changed it at the same
        time.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/UpdateConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    def delete_connector(self, request: DeleteConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteConnectorResponse:
        """DeleteConnector deletes a connector, the replication slot that it has created, and its documents if asked. Errors:
        NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/DeleteConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteConnectorResponse", answer)

    def test_connector(self, request: TestConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TestConnectorResponse:
        """TestConnector reads the first 20 items of the source, as a run does, and stores nothing.
        Errors: NOT_FOUND; those of the source.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/TestConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TestConnectorResponse", answer)

    def sync_connector(self, request: SyncConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """SyncConnector starts a run now, or another one after that which is running. Errors:
        NOT_FOUND; FAILED_PRECONDITION while the connector is paused.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/SyncConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    def pause_connector(self, request: PauseConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """PauseConnector ends a run soon and starts no others. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.ConnectorService/PauseConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    def resume_connector(self, request: ResumeConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """ResumeConnector ends a pause and starts a run. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.ConnectorService/ResumeConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    def list_connector_items(self, request: ListConnectorItemsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListConnectorItemsResponse:
        """ListConnectorItems returns the items that the connector knows in the order of their ids.
        Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/ListConnectorItems", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListConnectorItemsResponse", answer)

    def authorize_connector(self, request: AuthorizeConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> AuthorizeConnectorResponse:
        """AuthorizeConnector begins to get a token for the server of a connector of the source mcp: it returns the
        address at which a user signs in. Afterwards the connector runs. Errors: NOT_FOUND; FAILED_PRECONDITION
        for another source, for the grant client_credentials, and for a server that cannot be used so.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/AuthorizeConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("AuthorizeConnectorResponse", answer)

    def list_connector_recipes(self, request: ListConnectorRecipesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListConnectorRecipesResponse:
        """ListConnectorRecipes returns the recipes of the source http, which are manifests of well-known web APIs, in the
        order of their names.
        """
        answer = self._transport.unary("ragd.v1.ConnectorService/ListConnectorRecipes", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListConnectorRecipesResponse", answer)


class AsyncConnectorService:
    """ConnectorService manages a tenant's connectors. A connector keeps documents of an index the
    same as the items of a source, such as the pages of a website: it adds new items, updates
    changed ones and deletes the documents of items that are gone.
    
    All calls need the scope admin and a credential without a mandatory filter and without
    bounds. A connector runs with the rights of the credential that created or last updated it,
    and fails when this is revoked.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_connector(self, request: CreateConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """CreateConnector creates a connector. It runs at once, unless it is paused. Errors:
        ALREADY_EXISTS; INVALID_ARGUMENT; NOT_FOUND for the index or a secret; FAILED_PRECONDITION for an
        address inside the network of the service; RESOURCE_EXHAUSTED when the tenant has too many.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/CreateConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    async def get_connector(self, request: GetConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Connector:
        """GetConnector returns a connector, with its last run. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.ConnectorService/GetConnector", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Connector", answer)

    async def list_connectors(self, request: ListConnectorsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListConnectorsResponse:
        """ListConnectors returns the connectors in the order of their names."""
        answer = await self._transport.unary("ragd.v1.ConnectorService/ListConnectors", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListConnectorsResponse", answer)

    async def update_connector(self, request: UpdateConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """UpdateConnector changes the given fields and leaves the others. It starts a run that reads all
        items again, unless the connector is paused. Errors: as CreateConnector; NOT_FOUND; ABORTED when another call changed it at the same
        time.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/UpdateConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    async def delete_connector(self, request: DeleteConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteConnectorResponse:
        """DeleteConnector deletes a connector, the replication slot that it has created, and its documents if asked. Errors:
        NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/DeleteConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteConnectorResponse", answer)

    async def test_connector(self, request: TestConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TestConnectorResponse:
        """TestConnector reads the first 20 items of the source, as a run does, and stores nothing.
        Errors: NOT_FOUND; those of the source.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/TestConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TestConnectorResponse", answer)

    async def sync_connector(self, request: SyncConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """SyncConnector starts a run now, or another one after that which is running. Errors:
        NOT_FOUND; FAILED_PRECONDITION while the connector is paused.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/SyncConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    async def pause_connector(self, request: PauseConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """PauseConnector ends a run soon and starts no others. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.ConnectorService/PauseConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    async def resume_connector(self, request: ResumeConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Connector:
        """ResumeConnector ends a pause and starts a run. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.ConnectorService/ResumeConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Connector", answer)

    async def list_connector_items(self, request: ListConnectorItemsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListConnectorItemsResponse:
        """ListConnectorItems returns the items that the connector knows in the order of their ids.
        Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/ListConnectorItems", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListConnectorItemsResponse", answer)

    async def authorize_connector(self, request: AuthorizeConnectorRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> AuthorizeConnectorResponse:
        """AuthorizeConnector begins to get a token for the server of a connector of the source mcp: it returns the
        address at which a user signs in. Afterwards the connector runs. Errors: NOT_FOUND; FAILED_PRECONDITION
        for another source, for the grant client_credentials, and for a server that cannot be used so.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/AuthorizeConnector", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("AuthorizeConnectorResponse", answer)

    async def list_connector_recipes(self, request: ListConnectorRecipesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListConnectorRecipesResponse:
        """ListConnectorRecipes returns the recipes of the source http, which are manifests of well-known web APIs, in the
        order of their names.
        """
        answer = await self._transport.unary("ragd.v1.ConnectorService/ListConnectorRecipes", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListConnectorRecipesResponse", answer)


class ContextService:
    """ContextService manages the keys of the request context that a tenant declares beside the
    known ones such as topK. Tools use a value as {{context.NAME}}, filters as
    {"$context": "context.NAME"}. Changes need the scope admin, reads the scope read; all need a
    credential without a mandatory filter and without bounds.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def declare_context_key(self, request: DeclareContextKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeclareContextKeyResponse:
        """DeclareContextKey declares a key or replaces its declaration. Errors: INVALID_ARGUMENT;
        RESOURCE_EXHAUSTED for too many keys.
        """
        answer = self._transport.unary("ragd.v1.ContextService/DeclareContextKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeclareContextKeyResponse", answer)

    def get_context_key(self, request: GetContextKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetContextKeyResponse:
        """GetContextKey returns a declared key. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.ContextService/GetContextKey", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetContextKeyResponse", answer)

    def list_context_keys(self, request: ListContextKeysRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListContextKeysResponse:
        """ListContextKeys returns the declared keys in the order of their names."""
        answer = self._transport.unary("ragd.v1.ContextService/ListContextKeys", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListContextKeysResponse", answer)

    def delete_context_key(self, request: DeleteContextKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteContextKeyResponse:
        """DeleteContextKey deletes the declaration of a key. References to it are missing from then
        on, so that filters with them match nothing. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.ContextService/DeleteContextKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteContextKeyResponse", answer)


class AsyncContextService:
    """ContextService manages the keys of the request context that a tenant declares beside the
    known ones such as topK. Tools use a value as {{context.NAME}}, filters as
    {"$context": "context.NAME"}. Changes need the scope admin, reads the scope read; all need a
    credential without a mandatory filter and without bounds.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def declare_context_key(self, request: DeclareContextKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeclareContextKeyResponse:
        """DeclareContextKey declares a key or replaces its declaration. Errors: INVALID_ARGUMENT;
        RESOURCE_EXHAUSTED for too many keys.
        """
        answer = await self._transport.unary("ragd.v1.ContextService/DeclareContextKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeclareContextKeyResponse", answer)

    async def get_context_key(self, request: GetContextKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetContextKeyResponse:
        """GetContextKey returns a declared key. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.ContextService/GetContextKey", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetContextKeyResponse", answer)

    async def list_context_keys(self, request: ListContextKeysRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListContextKeysResponse:
        """ListContextKeys returns the declared keys in the order of their names."""
        answer = await self._transport.unary("ragd.v1.ContextService/ListContextKeys", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListContextKeysResponse", answer)

    async def delete_context_key(self, request: DeleteContextKeyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteContextKeyResponse:
        """DeleteContextKey deletes the declaration of a key. References to it are missing from then
        on, so that filters with them match nothing. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.ContextService/DeleteContextKey", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteContextKeyResponse", answer)


class DatabaseService:
    """DatabaseService manages the databases in which tenants live, when one is not enough. Each is a
    PostgreSQL with pgvector. Calls need the operator's key, with the scope operator.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def register_database(self, request: RegisterDatabaseRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Database:
        """RegisterDatabase adds a database, makes the schemas of the service in it, and lets tenants live
        there. Errors: ALREADY_EXISTS; INVALID_ARGUMENT; FAILED_PRECONDITION without master keys, and for
        a database that belongs to another ragd; UNAVAILABLE when it does not answer.
        """
        answer = self._transport.unary("ragd.v1.DatabaseService/RegisterDatabase", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Database", answer)

    def list_databases(self, request: ListDatabasesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDatabasesResponse:
        """ListDatabases returns all databases: main, which has the control schema, then the others by name."""
        answer = self._transport.unary("ragd.v1.DatabaseService/ListDatabases", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDatabasesResponse", answer)

    def update_database(self, request: UpdateDatabaseRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Database:
        """UpdateDatabase changes the given fields and leaves the others. A new URL must lead to the same
        database. Errors: NOT_FOUND; INVALID_ARGUMENT; FAILED_PRECONDITION for another database;
        UNAVAILABLE when it does not answer.
        """
        answer = self._transport.unary("ragd.v1.DatabaseService/UpdateDatabase", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Database", answer)

    def delete_database(self, request: DeleteDatabaseRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteDatabaseResponse:
        """DeleteDatabase removes a database in which no tenant lives. What is in it stays. Errors:
        NOT_FOUND; FAILED_PRECONDITION while tenants live there.
        """
        answer = self._transport.unary("ragd.v1.DatabaseService/DeleteDatabase", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteDatabaseResponse", answer)


class AsyncDatabaseService:
    """DatabaseService manages the databases in which tenants live, when one is not enough. Each is a
    PostgreSQL with pgvector. Calls need the operator's key, with the scope operator.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def register_database(self, request: RegisterDatabaseRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Database:
        """RegisterDatabase adds a database, makes the schemas of the service in it, and lets tenants live
        there. Errors: ALREADY_EXISTS; INVALID_ARGUMENT; FAILED_PRECONDITION without master keys, and for
        a database that belongs to another ragd; UNAVAILABLE when it does not answer.
        """
        answer = await self._transport.unary("ragd.v1.DatabaseService/RegisterDatabase", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Database", answer)

    async def list_databases(self, request: ListDatabasesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDatabasesResponse:
        """ListDatabases returns all databases: main, which has the control schema, then the others by name."""
        answer = await self._transport.unary("ragd.v1.DatabaseService/ListDatabases", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDatabasesResponse", answer)

    async def update_database(self, request: UpdateDatabaseRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Database:
        """UpdateDatabase changes the given fields and leaves the others. A new URL must lead to the same
        database. Errors: NOT_FOUND; INVALID_ARGUMENT; FAILED_PRECONDITION for another database;
        UNAVAILABLE when it does not answer.
        """
        answer = await self._transport.unary("ragd.v1.DatabaseService/UpdateDatabase", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Database", answer)

    async def delete_database(self, request: DeleteDatabaseRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteDatabaseResponse:
        """DeleteDatabase removes a database in which no tenant lives. What is in it stays. Errors:
        NOT_FOUND; FAILED_PRECONDITION while tenants live there.
        """
        answer = await self._transport.unary("ragd.v1.DatabaseService/DeleteDatabase", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteDatabaseResponse", answer)


class DocumentService:
    """DocumentService stores documents in an index and reports on their processing."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def upload_document(self, request: UploadDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> UploadDocumentResponse:
        """UploadDocument stores a document and starts a job that chunks and embeds it. Once it
        has answered, the document is durable. A document with the uri of an earlier one
        replaces it when its job succeeds; until then the earlier version stays searchable.
        An upload of the same bytes with the same settings changes nothing and returns the
        document with its earlier job, unless that has failed or the document has a notice. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/UploadDocument", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("UploadDocumentResponse", answer)

    def upload_documents(self, requests: Iterable[UploadDocumentsRequest], *, timeout: float | None = None, context: dict[str, Any] | None = None) -> UploadDocumentsResponse:
        """UploadDocuments stores many documents, or large ones in several messages: for each
        document one message that begins it, then any number of messages with the rest of its
        content. The response has a result for each document, in the order of the stream; an
        error in one document does not affect the others. If the stream breaks off, the
        document in transfer is discarded; earlier ones may or may not be stored, and may be
        sent again. Needs the scope write.
        """
        answer = self._transport.client_stream("ragd.v1.DocumentService/UploadDocuments", requests, timeout=timeout, context=context)
        return cast("UploadDocumentsResponse", answer)

    def get_document(self, request: GetDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Document:
        """GetDocument returns a document by id or uri. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.DocumentService/GetDocument", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Document", answer)

    def download_document(self, request: DownloadDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[DownloadDocumentResponse]:
        """DownloadDocument sends a document and then its content as it was uploaded, in pieces.
        A download is complete if it has byte_size bytes with the hash content_sha256. Errors:
        NOT_FOUND; ABORTED when the content is replaced meanwhile.
        """
        answer = self._transport.server_stream("ragd.v1.DocumentService/DownloadDocument", request or {}, timeout=timeout, context=context)
        return cast("Iterator[DownloadDocumentResponse]", answer)

    def read_document(self, request: ReadDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ReadDocumentResponse:
        """ReadDocument returns the text that was read from a document, or a range of it: what is
        split into chunks, whose start_byte and end_byte are positions in it. Errors: NOT_FOUND;
        FAILED_PRECONDITION for a document that has not been read yet.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/ReadDocument", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ReadDocumentResponse", answer)

    def render_page(self, request: RenderPageRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RenderPageResponse:
        """RenderPage returns a picture of a page of a PDF file, with ranges of its text highlighted, or a link to that picture.
        Errors: NOT_FOUND; INVALID_ARGUMENT for a page that the file does not have, and for a file that cannot be drawn;
        FAILED_PRECONDITION for a document that is not a PDF file.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/RenderPage", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RenderPageResponse", answer)

    def list_documents(self, request: ListDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDocumentsResponse:
        """ListDocuments returns an index's documents in the order of their creation."""
        answer = self._transport.unary("ragd.v1.DocumentService/ListDocuments", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDocumentsResponse", answer)

    def delete_document(self, request: DeleteDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteDocumentResponse:
        """DeleteDocument removes a document and its chunks, also while it is being
        processed. RestoreDocuments brings it back within the retention of deleted documents. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/DeleteDocument", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteDocumentResponse", answer)

    def delete_documents(self, request: DeleteDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteDocumentsResponse:
        """DeleteDocuments removes the documents that are named or that match a filter over
        their metadata, with their chunks, also while they are being processed. A call that
        broke off may be repeated. RestoreDocuments brings them back within the retention of deleted documents. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/DeleteDocuments", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteDocumentsResponse", answer)

    def list_deleted(self, request: ListDeletedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDeletedResponse:
        """ListDeleted lists the deleted documents of an index that can be restored, the newest deletion first. Needs the scope
        write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/ListDeleted", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDeletedResponse", answer)

    def restore_documents(self, request: RestoreDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RestoreDocumentsResponse:
        """RestoreDocuments brings deleted documents back as they were: with their ids, versions, contents, metadata, chunks and
        embeddings. They are searchable when it answers; their jobs connect them to the graph. Where the index has another
        embedding model since, or a newer analyzer of texts, the jobs chunk and embed them anew. A call that broke off may be
        repeated. Errors: ALREADY_EXISTS if a document with the uri of one was uploaded since, unless onConflict says what to do;
        RESOURCE_EXHAUSTED beyond a quota of the tenant. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/RestoreDocuments", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RestoreDocumentsResponse", answer)

    def erase_deleted(self, request: EraseDeletedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> EraseDeletedResponse:
        """EraseDeleted erases deleted documents of an index at once, which then cannot be restored. A call that broke off may be
        repeated. Needs the scope admin.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/EraseDeleted", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("EraseDeletedResponse", answer)

    def sync_source(self, request: SyncSourceRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SyncSourceResponse:
        """SyncSource compares the documents of a source, such as a folder or a site, with those
        in the index. It returns which are new, changed or unchanged, for the caller to
        upload, and deletes documents that the source no longer has. It never deletes
        documents outside of the source's prefix or documents that changed during the call. A
        call that broke off may be repeated. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/SyncSource", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SyncSourceResponse", answer)

    def find_unchanged(self, request: FindUnchangedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> FindUnchangedResponse:
        """FindUnchanged returns which documents need no upload: the index has them under their
        uri with the same fingerprint, ready, and split by the same settings. Asking first saves
        sending their content. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/FindUnchanged", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("FindUnchangedResponse", answer)

    def situate_documents(self, request: SituateDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SituateDocumentsResponse:
        """SituateDocuments processes again the ready documents of an index whose chunks lack sentences of context, the option
        context of extract: those that were uploaded before the index had it, and those with a notice. Their present chunks
        stay searchable meanwhile, and sentences that were made before are not paid again. With dryRun it only estimates what
        that would take. A call that broke off may be repeated. Errors: FAILED_PRECONDITION for an index without the option,
        but for a dry run. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/SituateDocuments", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SituateDocumentsResponse", answer)

    def list_chunks(self, request: ListChunksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListChunksResponse:
        """ListChunks returns a document's chunks in reading order."""
        answer = self._transport.unary("ragd.v1.DocumentService/ListChunks", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListChunksResponse", answer)

    def export_chunks(self, request: ExportChunksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[ExportChunksResponse]:
        """ExportChunks sends all chunks of an index that a filter selects, also ready-made vectors, in the order of their ids and in parts of
        about 1 MiB. Each part has the token by which another call goes on after it, if this one breaks off. What is written or deleted
        meanwhile may be left out or not. Errors: NOT_FOUND; FAILED_PRECONDITION for a pageToken of an index that was deleted since.
        """
        answer = self._transport.server_stream("ragd.v1.DocumentService/ExportChunks", request or {}, timeout=timeout, context=context)
        return cast("Iterator[ExportChunksResponse]", answer)

    def get_job(self, request: GetJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Job:
        """GetJob returns the present state of a job. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.DocumentService/GetJob", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Job", answer)

    def list_jobs(self, request: ListJobsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListJobsResponse:
        """ListJobs returns the tenant's jobs, newest first."""
        answer = self._transport.unary("ragd.v1.DocumentService/ListJobs", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListJobsResponse", answer)

    def watch_job(self, request: WatchJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[Job]:
        """WatchJob sends the job at once and after each change, until its status is succeeded,
        failed or cancelled.
        """
        answer = self._transport.server_stream("ragd.v1.DocumentService/WatchJob", request or {}, timeout=timeout, context=context)
        return cast("Iterator[Job]", answer)

    def cancel_job(self, request: CancelJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Job:
        """CancelJob cancels a queued or running job and returns it. A document that was being
        processed becomes failed, and its last good version stays searchable; an index whose
        build is cancelled keeps its present Postgres index. Errors: FAILED_PRECONDITION for
        a job that has succeeded or failed. Cancelling a cancelled job is no error. Needs the
        scope write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/CancelJob", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Job", answer)

    def retry_job(self, request: RetryJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Job:
        """RetryJob starts the work of a failed or cancelled job again as a new job, and returns
        that; the old job keeps its status. Errors: FAILED_PRECONDITION when the job has not
        ended, has succeeded, or when its document was uploaded again since. Needs the scope
        write.
        """
        answer = self._transport.unary("ragd.v1.DocumentService/RetryJob", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Job", answer)


class AsyncDocumentService:
    """DocumentService stores documents in an index and reports on their processing."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upload_document(self, request: UploadDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> UploadDocumentResponse:
        """UploadDocument stores a document and starts a job that chunks and embeds it. Once it
        has answered, the document is durable. A document with the uri of an earlier one
        replaces it when its job succeeds; until then the earlier version stays searchable.
        An upload of the same bytes with the same settings changes nothing and returns the
        document with its earlier job, unless that has failed or the document has a notice. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/UploadDocument", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("UploadDocumentResponse", answer)

    async def upload_documents(self, requests: AsyncIterable[UploadDocumentsRequest], *, timeout: float | None = None, context: dict[str, Any] | None = None) -> UploadDocumentsResponse:
        """UploadDocuments stores many documents, or large ones in several messages: for each
        document one message that begins it, then any number of messages with the rest of its
        content. The response has a result for each document, in the order of the stream; an
        error in one document does not affect the others. If the stream breaks off, the
        document in transfer is discarded; earlier ones may or may not be stored, and may be
        sent again. Needs the scope write.
        """
        answer = await self._transport.client_stream("ragd.v1.DocumentService/UploadDocuments", requests, timeout=timeout, context=context)
        return cast("UploadDocumentsResponse", answer)

    async def get_document(self, request: GetDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Document:
        """GetDocument returns a document by id or uri. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.DocumentService/GetDocument", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Document", answer)

    def download_document(self, request: DownloadDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[DownloadDocumentResponse]:
        """DownloadDocument sends a document and then its content as it was uploaded, in pieces.
        A download is complete if it has byte_size bytes with the hash content_sha256. Errors:
        NOT_FOUND; ABORTED when the content is replaced meanwhile.
        """
        answer = self._transport.server_stream("ragd.v1.DocumentService/DownloadDocument", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[DownloadDocumentResponse]", answer)

    async def read_document(self, request: ReadDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ReadDocumentResponse:
        """ReadDocument returns the text that was read from a document, or a range of it: what is
        split into chunks, whose start_byte and end_byte are positions in it. Errors: NOT_FOUND;
        FAILED_PRECONDITION for a document that has not been read yet.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/ReadDocument", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ReadDocumentResponse", answer)

    async def render_page(self, request: RenderPageRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RenderPageResponse:
        """RenderPage returns a picture of a page of a PDF file, with ranges of its text highlighted, or a link to that picture.
        Errors: NOT_FOUND; INVALID_ARGUMENT for a page that the file does not have, and for a file that cannot be drawn;
        FAILED_PRECONDITION for a document that is not a PDF file.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/RenderPage", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RenderPageResponse", answer)

    async def list_documents(self, request: ListDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDocumentsResponse:
        """ListDocuments returns an index's documents in the order of their creation."""
        answer = await self._transport.unary("ragd.v1.DocumentService/ListDocuments", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDocumentsResponse", answer)

    async def delete_document(self, request: DeleteDocumentRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteDocumentResponse:
        """DeleteDocument removes a document and its chunks, also while it is being
        processed. RestoreDocuments brings it back within the retention of deleted documents. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/DeleteDocument", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteDocumentResponse", answer)

    async def delete_documents(self, request: DeleteDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteDocumentsResponse:
        """DeleteDocuments removes the documents that are named or that match a filter over
        their metadata, with their chunks, also while they are being processed. A call that
        broke off may be repeated. RestoreDocuments brings them back within the retention of deleted documents. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/DeleteDocuments", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteDocumentsResponse", answer)

    async def list_deleted(self, request: ListDeletedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDeletedResponse:
        """ListDeleted lists the deleted documents of an index that can be restored, the newest deletion first. Needs the scope
        write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/ListDeleted", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDeletedResponse", answer)

    async def restore_documents(self, request: RestoreDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RestoreDocumentsResponse:
        """RestoreDocuments brings deleted documents back as they were: with their ids, versions, contents, metadata, chunks and
        embeddings. They are searchable when it answers; their jobs connect them to the graph. Where the index has another
        embedding model since, or a newer analyzer of texts, the jobs chunk and embed them anew. A call that broke off may be
        repeated. Errors: ALREADY_EXISTS if a document with the uri of one was uploaded since, unless onConflict says what to do;
        RESOURCE_EXHAUSTED beyond a quota of the tenant. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/RestoreDocuments", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RestoreDocumentsResponse", answer)

    async def erase_deleted(self, request: EraseDeletedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> EraseDeletedResponse:
        """EraseDeleted erases deleted documents of an index at once, which then cannot be restored. A call that broke off may be
        repeated. Needs the scope admin.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/EraseDeleted", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("EraseDeletedResponse", answer)

    async def sync_source(self, request: SyncSourceRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SyncSourceResponse:
        """SyncSource compares the documents of a source, such as a folder or a site, with those
        in the index. It returns which are new, changed or unchanged, for the caller to
        upload, and deletes documents that the source no longer has. It never deletes
        documents outside of the source's prefix or documents that changed during the call. A
        call that broke off may be repeated. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/SyncSource", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SyncSourceResponse", answer)

    async def find_unchanged(self, request: FindUnchangedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> FindUnchangedResponse:
        """FindUnchanged returns which documents need no upload: the index has them under their
        uri with the same fingerprint, ready, and split by the same settings. Asking first saves
        sending their content. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/FindUnchanged", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("FindUnchangedResponse", answer)

    async def situate_documents(self, request: SituateDocumentsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SituateDocumentsResponse:
        """SituateDocuments processes again the ready documents of an index whose chunks lack sentences of context, the option
        context of extract: those that were uploaded before the index had it, and those with a notice. Their present chunks
        stay searchable meanwhile, and sentences that were made before are not paid again. With dryRun it only estimates what
        that would take. A call that broke off may be repeated. Errors: FAILED_PRECONDITION for an index without the option,
        but for a dry run. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/SituateDocuments", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SituateDocumentsResponse", answer)

    async def list_chunks(self, request: ListChunksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListChunksResponse:
        """ListChunks returns a document's chunks in reading order."""
        answer = await self._transport.unary("ragd.v1.DocumentService/ListChunks", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListChunksResponse", answer)

    def export_chunks(self, request: ExportChunksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[ExportChunksResponse]:
        """ExportChunks sends all chunks of an index that a filter selects, also ready-made vectors, in the order of their ids and in parts of
        about 1 MiB. Each part has the token by which another call goes on after it, if this one breaks off. What is written or deleted
        meanwhile may be left out or not. Errors: NOT_FOUND; FAILED_PRECONDITION for a pageToken of an index that was deleted since.
        """
        answer = self._transport.server_stream("ragd.v1.DocumentService/ExportChunks", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[ExportChunksResponse]", answer)

    async def get_job(self, request: GetJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Job:
        """GetJob returns the present state of a job. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.DocumentService/GetJob", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Job", answer)

    async def list_jobs(self, request: ListJobsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListJobsResponse:
        """ListJobs returns the tenant's jobs, newest first."""
        answer = await self._transport.unary("ragd.v1.DocumentService/ListJobs", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListJobsResponse", answer)

    def watch_job(self, request: WatchJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[Job]:
        """WatchJob sends the job at once and after each change, until its status is succeeded,
        failed or cancelled.
        """
        answer = self._transport.server_stream("ragd.v1.DocumentService/WatchJob", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[Job]", answer)

    async def cancel_job(self, request: CancelJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Job:
        """CancelJob cancels a queued or running job and returns it. A document that was being
        processed becomes failed, and its last good version stays searchable; an index whose
        build is cancelled keeps its present Postgres index. Errors: FAILED_PRECONDITION for
        a job that has succeeded or failed. Cancelling a cancelled job is no error. Needs the
        scope write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/CancelJob", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Job", answer)

    async def retry_job(self, request: RetryJobRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Job:
        """RetryJob starts the work of a failed or cancelled job again as a new job, and returns
        that; the old job keeps its status. Errors: FAILED_PRECONDITION when the job has not
        ended, has succeeded, or when its document was uploaded again since. Needs the scope
        write.
        """
        answer = await self._transport.unary("ragd.v1.DocumentService/RetryJob", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Job", answer)


class EndpointService:
    """EndpointService manages the addresses at which a tenant's own models are served. A model
    is named endpoint/model wherever one is named: as the embeddingModel of an index, as the
    model of a reranker, and as the model of an extraction. Endpoints of the operator are
    listed too, but only the operator's settings change them. All calls need the scope admin
    and a credential without a mandatory filter.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_endpoint(self, request: CreateEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Endpoint:
        """CreateEndpoint creates an endpoint. Errors: ALREADY_EXISTS for a name in use, also by the
        operator; INVALID_ARGUMENT; FAILED_PRECONDITION for an address in the operator's
        network, and for a key or headers if the server has no master key to encrypt them;
        RESOURCE_EXHAUSTED for too many endpoints.
        """
        answer = self._transport.unary("ragd.v1.EndpointService/CreateEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Endpoint", answer)

    def get_endpoint(self, request: GetEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Endpoint:
        """GetEndpoint returns an endpoint, without its key. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.EndpointService/GetEndpoint", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Endpoint", answer)

    def list_endpoints(self, request: ListEndpointsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEndpointsResponse:
        """ListEndpoints returns the tenant's endpoints in the order of their names."""
        answer = self._transport.unary("ragd.v1.EndpointService/ListEndpoints", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEndpointsResponse", answer)

    def update_endpoint(self, request: UpdateEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Endpoint:
        """UpdateEndpoint changes the given fields and leaves the others. Another base_url needs the
        key and the headers again, as they would be sent there. Errors: as CreateEndpoint.
        """
        answer = self._transport.unary("ragd.v1.EndpointService/UpdateEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Endpoint", answer)

    def delete_endpoint(self, request: DeleteEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteEndpointResponse:
        """DeleteEndpoint deletes an endpoint with its key. Errors: NOT_FOUND; FAILED_PRECONDITION,
        naming an index, while one has a model of the endpoint.
        """
        answer = self._transport.unary("ragd.v1.EndpointService/DeleteEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteEndpointResponse", answer)

    def test_endpoint(self, request: TestEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TestEndpointResponse:
        """TestEndpoint calls an endpoint of the tenant or of the operator: without a model to list
        its models, with one to use that. Errors: those of the call, such as UNAVAILABLE if it
        does not answer and FAILED_PRECONDITION if it refuses the key; INVALID_ARGUMENT for a
        kind that cannot list its models.
        """
        answer = self._transport.unary("ragd.v1.EndpointService/TestEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TestEndpointResponse", answer)


class AsyncEndpointService:
    """EndpointService manages the addresses at which a tenant's own models are served. A model
    is named endpoint/model wherever one is named: as the embeddingModel of an index, as the
    model of a reranker, and as the model of an extraction. Endpoints of the operator are
    listed too, but only the operator's settings change them. All calls need the scope admin
    and a credential without a mandatory filter.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_endpoint(self, request: CreateEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Endpoint:
        """CreateEndpoint creates an endpoint. Errors: ALREADY_EXISTS for a name in use, also by the
        operator; INVALID_ARGUMENT; FAILED_PRECONDITION for an address in the operator's
        network, and for a key or headers if the server has no master key to encrypt them;
        RESOURCE_EXHAUSTED for too many endpoints.
        """
        answer = await self._transport.unary("ragd.v1.EndpointService/CreateEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Endpoint", answer)

    async def get_endpoint(self, request: GetEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Endpoint:
        """GetEndpoint returns an endpoint, without its key. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.EndpointService/GetEndpoint", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Endpoint", answer)

    async def list_endpoints(self, request: ListEndpointsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEndpointsResponse:
        """ListEndpoints returns the tenant's endpoints in the order of their names."""
        answer = await self._transport.unary("ragd.v1.EndpointService/ListEndpoints", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEndpointsResponse", answer)

    async def update_endpoint(self, request: UpdateEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Endpoint:
        """UpdateEndpoint changes the given fields and leaves the others. Another base_url needs the
        key and the headers again, as they would be sent there. Errors: as CreateEndpoint.
        """
        answer = await self._transport.unary("ragd.v1.EndpointService/UpdateEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Endpoint", answer)

    async def delete_endpoint(self, request: DeleteEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteEndpointResponse:
        """DeleteEndpoint deletes an endpoint with its key. Errors: NOT_FOUND; FAILED_PRECONDITION,
        naming an index, while one has a model of the endpoint.
        """
        answer = await self._transport.unary("ragd.v1.EndpointService/DeleteEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteEndpointResponse", answer)

    async def test_endpoint(self, request: TestEndpointRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TestEndpointResponse:
        """TestEndpoint calls an endpoint of the tenant or of the operator: without a model to list
        its models, with one to use that. Errors: those of the call, such as UNAVAILABLE if it
        does not answer and FAILED_PRECONDITION if it refuses the key; INVALID_ARGUMENT for a
        kind that cannot list its models.
        """
        answer = await self._transport.unary("ragd.v1.EndpointService/TestEndpoint", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TestEndpointResponse", answer)


class IndexService:
    """IndexService manages the indexes of the caller's tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_index(self, request: CreateIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Index:
        """CreateIndex creates an index. If it exists with the same settings, the call changes
        nothing; with other settings it fails with ALREADY_EXISTS. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.IndexService/CreateIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Index", answer)

    def describe_index(self, request: DescribeIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Index:
        """DescribeIndex returns an index, its counts and its graph, in a time that does not
        depend on its size.
        """
        answer = self._transport.unary("ragd.v1.IndexService/DescribeIndex", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Index", answer)

    def list_indexes(self, request: ListIndexesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListIndexesResponse:
        """ListIndexes returns the indexes in the order of their names."""
        answer = self._transport.unary("ragd.v1.IndexService/ListIndexes", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListIndexesResponse", answer)

    def update_index(self, request: UpdateIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Index:
        """UpdateIndex changes the given settings and leaves the others. A change of
        embeddingModel starts a job that embeds all documents again, see reembedJobId. A
        change of indexConfig rebuilds the Postgres index over the embeddings in the
        background, while the old one serves. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.IndexService/UpdateIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Index", answer)

    def build_index(self, request: BuildIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> BuildIndexResponse:
        """BuildIndex starts a job that builds the Postgres index over the embeddings, however
        few there are; IndexConfig tells when that happens by itself. The job's progress
        counts vectors. Errors: FAILED_PRECONDITION for a flat index. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.IndexService/BuildIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("BuildIndexResponse", answer)

    def rebuild_graph(self, request: RebuildGraphRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RebuildGraphResponse:
        """RebuildGraph starts a job that finds the edges of all documents again. It repairs
        edges after an interrupted upload, links chunks that were loaded before their
        Postgres index was built, and counts the graph's components. The job's progress
        counts documents; queries are served meanwhile. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.IndexService/RebuildGraph", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RebuildGraphResponse", answer)

    def delete_asked_questions(self, request: DeleteAskedQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteAskedQuestionsResponse:
        """DeleteAskedQuestions deletes the recorded questions of an index, also the notable ones; see
        recordQuestions of Index. The search width that was measured with them stays. Needs the scope
        write.
        """
        answer = self._transport.unary("ragd.v1.IndexService/DeleteAskedQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteAskedQuestionsResponse", answer)

    def list_notable_questions(self, request: ListNotableQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListNotableQuestionsResponse:
        """ListNotableQuestions returns questions of the last 14 days that found nothing, took long or
        failed, the latest first, some seconds after they were asked. Questions of credentials with a
        mandatory filter, of evaluations, and of indexes that record no questions are not among them.
        Needs the scope admin, and a credential without a mandatory filter. Errors: NOT_FOUND for an
        index that does not exist.
        """
        answer = self._transport.unary("ragd.v1.IndexService/ListNotableQuestions", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListNotableQuestionsResponse", answer)

    def put_synonyms(self, request: PutSynonymsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> PutSynonymsResponse:
        """PutSynonyms adds synonyms to an index, or takes the place of those it has. Questions use them within 5 s. Needs the scope write, and a
        credential without a mandatory filter. Errors: NOT_FOUND; INVALID_ARGUMENT naming the entry; RESOURCE_EXHAUSTED beyond 1000 entries or
        256 KiB.
        """
        answer = self._transport.unary("ragd.v1.IndexService/PutSynonyms", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("PutSynonymsResponse", answer)

    def list_synonyms(self, request: ListSynonymsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListSynonymsResponse:
        """ListSynonyms returns the synonyms of an index. Needs a credential without a mandatory filter."""
        answer = self._transport.unary("ragd.v1.IndexService/ListSynonyms", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListSynonymsResponse", answer)

    def delete_synonyms(self, request: DeleteSynonymsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteSynonymsResponse:
        """DeleteSynonyms deletes synonyms of an index. Needs the scope write, and a credential without a mandatory filter."""
        answer = self._transport.unary("ragd.v1.IndexService/DeleteSynonyms", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteSynonymsResponse", answer)

    def put_curations(self, request: PutCurationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> PutCurationsResponse:
        """PutCurations adds curations to an index, or takes the place of those it has. Questions follow them within 5 s. Needs the scope write, and
        a credential without a mandatory filter. Errors: NOT_FOUND; INVALID_ARGUMENT naming the curation; RESOURCE_EXHAUSTED beyond 1000 curations
        or 256 KiB.
        """
        answer = self._transport.unary("ragd.v1.IndexService/PutCurations", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("PutCurationsResponse", answer)

    def list_curations(self, request: ListCurationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListCurationsResponse:
        """ListCurations returns the curations of an index. Needs a credential without a mandatory filter."""
        answer = self._transport.unary("ragd.v1.IndexService/ListCurations", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListCurationsResponse", answer)

    def delete_curations(self, request: DeleteCurationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteCurationsResponse:
        """DeleteCurations deletes curations of an index. Needs the scope write, and a credential without a mandatory filter."""
        answer = self._transport.unary("ragd.v1.IndexService/DeleteCurations", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteCurationsResponse", answer)

    def create_ranking_profile(self, request: CreateRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RankingProfile:
        """CreateRankingProfile stores parameters of ranking under a name, as version 1 of a profile of the index. Needs the scope write
        and, as all changes of profiles, a credential without a mandatory filter. Errors: INVALID_ARGUMENT for parameters that a query
        could not have; ALREADY_EXISTS; RESOURCE_EXHAUSTED beyond 32 profiles of an index.
        """
        answer = self._transport.unary("ragd.v1.IndexService/CreateRankingProfile", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RankingProfile", answer)

    def get_ranking_profile(self, request: GetRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RankingProfile:
        """GetRankingProfile returns a version of a profile, by default the latest. Errors: NOT_FOUND, also for a version that does not exist."""
        answer = self._transport.unary("ragd.v1.IndexService/GetRankingProfile", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RankingProfile", answer)

    def list_ranking_profiles(self, request: ListRankingProfilesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListRankingProfilesResponse:
        """ListRankingProfiles returns the latest version of each profile of an index in the order of their names."""
        answer = self._transport.unary("ragd.v1.IndexService/ListRankingProfiles", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListRankingProfilesResponse", answer)

    def update_ranking_profile(self, request: UpdateRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RankingProfile:
        """UpdateRankingProfile changes what is given of a profile. Other parameters, also those of an earlier version, make a new version;
        earlier ones remain. Errors: as CreateRankingProfile; NOT_FOUND; RESOURCE_EXHAUSTED beyond 20 versions.
        """
        answer = self._transport.unary("ragd.v1.IndexService/UpdateRankingProfile", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RankingProfile", answer)

    def delete_ranking_profile(self, request: DeleteRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteRankingProfileResponse:
        """DeleteRankingProfile deletes a profile with all its versions, or one version that is not the latest. Errors: NOT_FOUND;
        FAILED_PRECONDITION for the latest of several versions.
        """
        answer = self._transport.unary("ragd.v1.IndexService/DeleteRankingProfile", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteRankingProfileResponse", answer)

    def truncate_index(self, request: TruncateIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TruncateIndexResponse:
        """TruncateIndex removes all documents and vectors of the index at once, in a time that
        does not depend on its size. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.IndexService/TruncateIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TruncateIndexResponse", answer)

    def delete_index(self, request: DeleteIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteIndexResponse:
        """DeleteIndex removes the index with its documents and chunks. Needs the scope
        write.
        """
        answer = self._transport.unary("ragd.v1.IndexService/DeleteIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteIndexResponse", answer)


class AsyncIndexService:
    """IndexService manages the indexes of the caller's tenant."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_index(self, request: CreateIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Index:
        """CreateIndex creates an index. If it exists with the same settings, the call changes
        nothing; with other settings it fails with ALREADY_EXISTS. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/CreateIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Index", answer)

    async def describe_index(self, request: DescribeIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Index:
        """DescribeIndex returns an index, its counts and its graph, in a time that does not
        depend on its size.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/DescribeIndex", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Index", answer)

    async def list_indexes(self, request: ListIndexesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListIndexesResponse:
        """ListIndexes returns the indexes in the order of their names."""
        answer = await self._transport.unary("ragd.v1.IndexService/ListIndexes", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListIndexesResponse", answer)

    async def update_index(self, request: UpdateIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Index:
        """UpdateIndex changes the given settings and leaves the others. A change of
        embeddingModel starts a job that embeds all documents again, see reembedJobId. A
        change of indexConfig rebuilds the Postgres index over the embeddings in the
        background, while the old one serves. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/UpdateIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Index", answer)

    async def build_index(self, request: BuildIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> BuildIndexResponse:
        """BuildIndex starts a job that builds the Postgres index over the embeddings, however
        few there are; IndexConfig tells when that happens by itself. The job's progress
        counts vectors. Errors: FAILED_PRECONDITION for a flat index. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/BuildIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("BuildIndexResponse", answer)

    async def rebuild_graph(self, request: RebuildGraphRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RebuildGraphResponse:
        """RebuildGraph starts a job that finds the edges of all documents again. It repairs
        edges after an interrupted upload, links chunks that were loaded before their
        Postgres index was built, and counts the graph's components. The job's progress
        counts documents; queries are served meanwhile. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/RebuildGraph", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RebuildGraphResponse", answer)

    async def delete_asked_questions(self, request: DeleteAskedQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteAskedQuestionsResponse:
        """DeleteAskedQuestions deletes the recorded questions of an index, also the notable ones; see
        recordQuestions of Index. The search width that was measured with them stays. Needs the scope
        write.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/DeleteAskedQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteAskedQuestionsResponse", answer)

    async def list_notable_questions(self, request: ListNotableQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListNotableQuestionsResponse:
        """ListNotableQuestions returns questions of the last 14 days that found nothing, took long or
        failed, the latest first, some seconds after they were asked. Questions of credentials with a
        mandatory filter, of evaluations, and of indexes that record no questions are not among them.
        Needs the scope admin, and a credential without a mandatory filter. Errors: NOT_FOUND for an
        index that does not exist.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/ListNotableQuestions", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListNotableQuestionsResponse", answer)

    async def put_synonyms(self, request: PutSynonymsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> PutSynonymsResponse:
        """PutSynonyms adds synonyms to an index, or takes the place of those it has. Questions use them within 5 s. Needs the scope write, and a
        credential without a mandatory filter. Errors: NOT_FOUND; INVALID_ARGUMENT naming the entry; RESOURCE_EXHAUSTED beyond 1000 entries or
        256 KiB.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/PutSynonyms", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("PutSynonymsResponse", answer)

    async def list_synonyms(self, request: ListSynonymsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListSynonymsResponse:
        """ListSynonyms returns the synonyms of an index. Needs a credential without a mandatory filter."""
        answer = await self._transport.unary("ragd.v1.IndexService/ListSynonyms", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListSynonymsResponse", answer)

    async def delete_synonyms(self, request: DeleteSynonymsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteSynonymsResponse:
        """DeleteSynonyms deletes synonyms of an index. Needs the scope write, and a credential without a mandatory filter."""
        answer = await self._transport.unary("ragd.v1.IndexService/DeleteSynonyms", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteSynonymsResponse", answer)

    async def put_curations(self, request: PutCurationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> PutCurationsResponse:
        """PutCurations adds curations to an index, or takes the place of those it has. Questions follow them within 5 s. Needs the scope write, and
        a credential without a mandatory filter. Errors: NOT_FOUND; INVALID_ARGUMENT naming the curation; RESOURCE_EXHAUSTED beyond 1000 curations
        or 256 KiB.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/PutCurations", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("PutCurationsResponse", answer)

    async def list_curations(self, request: ListCurationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListCurationsResponse:
        """ListCurations returns the curations of an index. Needs a credential without a mandatory filter."""
        answer = await self._transport.unary("ragd.v1.IndexService/ListCurations", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListCurationsResponse", answer)

    async def delete_curations(self, request: DeleteCurationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteCurationsResponse:
        """DeleteCurations deletes curations of an index. Needs the scope write, and a credential without a mandatory filter."""
        answer = await self._transport.unary("ragd.v1.IndexService/DeleteCurations", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteCurationsResponse", answer)

    async def create_ranking_profile(self, request: CreateRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RankingProfile:
        """CreateRankingProfile stores parameters of ranking under a name, as version 1 of a profile of the index. Needs the scope write
        and, as all changes of profiles, a credential without a mandatory filter. Errors: INVALID_ARGUMENT for parameters that a query
        could not have; ALREADY_EXISTS; RESOURCE_EXHAUSTED beyond 32 profiles of an index.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/CreateRankingProfile", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RankingProfile", answer)

    async def get_ranking_profile(self, request: GetRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RankingProfile:
        """GetRankingProfile returns a version of a profile, by default the latest. Errors: NOT_FOUND, also for a version that does not exist."""
        answer = await self._transport.unary("ragd.v1.IndexService/GetRankingProfile", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RankingProfile", answer)

    async def list_ranking_profiles(self, request: ListRankingProfilesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListRankingProfilesResponse:
        """ListRankingProfiles returns the latest version of each profile of an index in the order of their names."""
        answer = await self._transport.unary("ragd.v1.IndexService/ListRankingProfiles", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListRankingProfilesResponse", answer)

    async def update_ranking_profile(self, request: UpdateRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RankingProfile:
        """UpdateRankingProfile changes what is given of a profile. Other parameters, also those of an earlier version, make a new version;
        earlier ones remain. Errors: as CreateRankingProfile; NOT_FOUND; RESOURCE_EXHAUSTED beyond 20 versions.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/UpdateRankingProfile", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RankingProfile", answer)

    async def delete_ranking_profile(self, request: DeleteRankingProfileRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteRankingProfileResponse:
        """DeleteRankingProfile deletes a profile with all its versions, or one version that is not the latest. Errors: NOT_FOUND;
        FAILED_PRECONDITION for the latest of several versions.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/DeleteRankingProfile", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteRankingProfileResponse", answer)

    async def truncate_index(self, request: TruncateIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> TruncateIndexResponse:
        """TruncateIndex removes all documents and vectors of the index at once, in a time that
        does not depend on its size. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/TruncateIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("TruncateIndexResponse", answer)

    async def delete_index(self, request: DeleteIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteIndexResponse:
        """DeleteIndex removes the index with its documents and chunks. Needs the scope
        write.
        """
        answer = await self._transport.unary("ragd.v1.IndexService/DeleteIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteIndexResponse", answer)


class EvaluateService:
    """EvaluateService measures how well an index or an agent answers questions whose answers are known.
    It stores sets of questions, runs a set with the settings of a query or by asking an agent as a
    job, and compares two runs. Reading and feedback need the scope read, everything else the scope write. A credential with
    a mandatory filter sees only the sets and evaluations that were made with the same filter,
    and what it runs finds only what it may read; a credential without one sees all. A credential that
    is bound to indexes sees of the evaluations of agents those that were bound to the same or fewer.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_question_set(self, request: CreateQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """CreateQuestionSet creates a set, with its first questions if any are given. Errors:
        ALREADY_EXISTS for a name in use; INVALID_ARGUMENT naming a field of a question;
        NOT_FOUND for an index that does not exist; RESOURCE_EXHAUSTED beyond a limit.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/CreateQuestionSet", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    def get_question_set(self, request: GetQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> QuestionSet:
        """GetQuestionSet returns a set without its questions. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.EvaluateService/GetQuestionSet", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("QuestionSet", answer)

    def list_question_sets(self, request: ListQuestionSetsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListQuestionSetsResponse:
        """ListQuestionSets returns the sets in the order of their names."""
        answer = self._transport.unary("ragd.v1.EvaluateService/ListQuestionSets", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListQuestionSetsResponse", answer)

    def update_question_set(self, request: UpdateQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """UpdateQuestionSet changes the given fields and leaves the others. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.EvaluateService/UpdateQuestionSet", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    def delete_question_set(self, request: DeleteQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteQuestionSetResponse:
        """DeleteQuestionSet deletes a set, its questions and its evaluations, and cancels their
        jobs. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/DeleteQuestionSet", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteQuestionSetResponse", answer)

    def put_questions(self, request: PutQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """PutQuestions adds questions to a set and replaces those whose ids it has. Errors:
        NOT_FOUND; INVALID_ARGUMENT naming a field of a question; RESOURCE_EXHAUSTED beyond a
        limit. On an error no question is changed.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/PutQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    def list_questions(self, request: ListQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListQuestionsResponse:
        """ListQuestions returns the questions of a set in the order of their ids. Errors:
        NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/ListQuestions", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListQuestionsResponse", answer)

    def delete_questions(self, request: DeleteQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """DeleteQuestions deletes questions of a set. Ids that it does not have are ignored.
        Errors: NOT_FOUND for the set.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/DeleteQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    def draft_questions(self, request: DraftQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DraftQuestionsResponse:
        """DraftQuestions starts a job that adds questions to a set, made from chunks of its index
        that are sampled over the documents. Each is marked as drafted, and its chunk is the
        relevant span. Errors: NOT_FOUND; FAILED_PRECONDITION while another draft of the set is
        under way; INVALID_ARGUMENT for a model that cannot be used.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/DraftQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DraftQuestionsResponse", answer)

    def record_feedback(self, request: RecordFeedbackRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RecordFeedbackResponse:
        """RecordFeedback stores whether a source of an answer helped, and needs the scope read: whoever got the
        answer may say so. It becomes a judgement in the question set feedback-INDEX, which is made with the
        first: the question of the answer, to which the chunks are relevant that helped more callers than they
        did not. For a credential with a mandatory filter, and for each other namespace than default, the name
        of the set goes on with a number of its own. Feedback is deleted with its question or its set, and by
        withdraw. Errors: INVALID_ARGUMENT for a query id that is not one of this caller's answers, or is too
        old, and for a source that the answer did not have; NOT_FOUND for an index or chunk that is gone;
        RESOURCE_EXHAUSTED beyond a limit.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/RecordFeedback", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RecordFeedbackResponse", answer)

    def start_evaluation(self, request: StartEvaluationRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Evaluation:
        """StartEvaluation starts a job that asks every question of a set and measures what comes back.
        With the settings of a query it asks the first question at once, so that settings that cannot
        be used are rejected, and of the request context only the filter applies. An agent is asked
        with the caller's rights to read, bounds and request context, without values of secret keys; a
        question that fails does not end the job. Errors: those of the query; NOT_FOUND, also for an
        agent that the caller may not ask; INVALID_ARGUMENT for a model that cannot be used;
        FAILED_PRECONDITION for a set without questions.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/StartEvaluation", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Evaluation", answer)

    def get_evaluation(self, request: GetEvaluationRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Evaluation:
        """GetEvaluation returns an evaluation with its job and, once that has succeeded, its
        measures. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/GetEvaluation", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Evaluation", answer)

    def list_evaluations(self, request: ListEvaluationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEvaluationsResponse:
        """ListEvaluations returns evaluations, newest first."""
        answer = self._transport.unary("ragd.v1.EvaluateService/ListEvaluations", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEvaluationsResponse", answer)

    def delete_evaluation(self, request: DeleteEvaluationRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteEvaluationResponse:
        """DeleteEvaluation deletes an evaluation and cancels its job. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.EvaluateService/DeleteEvaluation", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteEvaluationResponse", answer)

    def list_evaluation_results(self, request: ListEvaluationResultsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEvaluationResultsResponse:
        """ListEvaluationResults returns the results of the questions in the order of their ids,
        also while the evaluation is running. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/ListEvaluationResults", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEvaluationResultsResponse", answer)

    def compare_evaluations(self, request: CompareEvaluationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> EvaluationComparison:
        """CompareEvaluations compares two evaluations question by question. Questions that only
        one of them has, or that were changed between them, are left out. Errors: NOT_FOUND;
        FAILED_PRECONDITION for one that has not succeeded, whose results are no longer kept, for two
        that have no question or no k in common, and for one of an index and one of an agent.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/CompareEvaluations", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("EvaluationComparison", answer)

    def tune_index(self, request: TuneIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Evaluation:
        """TuneIndex starts a job that finds how much the embeddings of an index should weigh for questions like those
        of a set: an evaluation that asks each question with several values of hybrid.vectorLogOdds. The value with the best
        ndcg@10 on one half of the questions is compared with the present one on the other half. With adopt, the queries of the
        index rank by it from then on if the 95% interval of the difference is above 0. Only questions with
        something relevant count, and none that are drafted; the halves are the same each time. It needs the scope write.
        Errors: NOT_FOUND; PERMISSION_DENIED for a credential with a mandatory filter; FAILED_PRECONDITION for fewer
        than 40 such questions, or fewer than 10 in a half; those of a query in hybrid mode.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/TuneIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Evaluation", answer)

    def restore_tuning(self, request: RestoreTuningRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RestoreTuningResponse:
        """RestoreTuning makes the former tuning of an index its present one, and the present one the former, so that a
        second call takes the first back. Before the first tuning there was none. It needs the scope write. Errors: NOT_FOUND;
        PERMISSION_DENIED for a credential with a mandatory filter; FAILED_PRECONDITION for an index that was never tuned.
        """
        answer = self._transport.unary("ragd.v1.EvaluateService/RestoreTuning", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RestoreTuningResponse", answer)


class AsyncEvaluateService:
    """EvaluateService measures how well an index or an agent answers questions whose answers are known.
    It stores sets of questions, runs a set with the settings of a query or by asking an agent as a
    job, and compares two runs. Reading and feedback need the scope read, everything else the scope write. A credential with
    a mandatory filter sees only the sets and evaluations that were made with the same filter,
    and what it runs finds only what it may read; a credential without one sees all. A credential that
    is bound to indexes sees of the evaluations of agents those that were bound to the same or fewer.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_question_set(self, request: CreateQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """CreateQuestionSet creates a set, with its first questions if any are given. Errors:
        ALREADY_EXISTS for a name in use; INVALID_ARGUMENT naming a field of a question;
        NOT_FOUND for an index that does not exist; RESOURCE_EXHAUSTED beyond a limit.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/CreateQuestionSet", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    async def get_question_set(self, request: GetQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> QuestionSet:
        """GetQuestionSet returns a set without its questions. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.EvaluateService/GetQuestionSet", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("QuestionSet", answer)

    async def list_question_sets(self, request: ListQuestionSetsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListQuestionSetsResponse:
        """ListQuestionSets returns the sets in the order of their names."""
        answer = await self._transport.unary("ragd.v1.EvaluateService/ListQuestionSets", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListQuestionSetsResponse", answer)

    async def update_question_set(self, request: UpdateQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """UpdateQuestionSet changes the given fields and leaves the others. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.EvaluateService/UpdateQuestionSet", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    async def delete_question_set(self, request: DeleteQuestionSetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteQuestionSetResponse:
        """DeleteQuestionSet deletes a set, its questions and its evaluations, and cancels their
        jobs. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/DeleteQuestionSet", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteQuestionSetResponse", answer)

    async def put_questions(self, request: PutQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """PutQuestions adds questions to a set and replaces those whose ids it has. Errors:
        NOT_FOUND; INVALID_ARGUMENT naming a field of a question; RESOURCE_EXHAUSTED beyond a
        limit. On an error no question is changed.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/PutQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    async def list_questions(self, request: ListQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListQuestionsResponse:
        """ListQuestions returns the questions of a set in the order of their ids. Errors:
        NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/ListQuestions", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListQuestionsResponse", answer)

    async def delete_questions(self, request: DeleteQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> QuestionSet:
        """DeleteQuestions deletes questions of a set. Ids that it does not have are ignored.
        Errors: NOT_FOUND for the set.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/DeleteQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("QuestionSet", answer)

    async def draft_questions(self, request: DraftQuestionsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DraftQuestionsResponse:
        """DraftQuestions starts a job that adds questions to a set, made from chunks of its index
        that are sampled over the documents. Each is marked as drafted, and its chunk is the
        relevant span. Errors: NOT_FOUND; FAILED_PRECONDITION while another draft of the set is
        under way; INVALID_ARGUMENT for a model that cannot be used.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/DraftQuestions", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DraftQuestionsResponse", answer)

    async def record_feedback(self, request: RecordFeedbackRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RecordFeedbackResponse:
        """RecordFeedback stores whether a source of an answer helped, and needs the scope read: whoever got the
        answer may say so. It becomes a judgement in the question set feedback-INDEX, which is made with the
        first: the question of the answer, to which the chunks are relevant that helped more callers than they
        did not. For a credential with a mandatory filter, and for each other namespace than default, the name
        of the set goes on with a number of its own. Feedback is deleted with its question or its set, and by
        withdraw. Errors: INVALID_ARGUMENT for a query id that is not one of this caller's answers, or is too
        old, and for a source that the answer did not have; NOT_FOUND for an index or chunk that is gone;
        RESOURCE_EXHAUSTED beyond a limit.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/RecordFeedback", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RecordFeedbackResponse", answer)

    async def start_evaluation(self, request: StartEvaluationRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Evaluation:
        """StartEvaluation starts a job that asks every question of a set and measures what comes back.
        With the settings of a query it asks the first question at once, so that settings that cannot
        be used are rejected, and of the request context only the filter applies. An agent is asked
        with the caller's rights to read, bounds and request context, without values of secret keys; a
        question that fails does not end the job. Errors: those of the query; NOT_FOUND, also for an
        agent that the caller may not ask; INVALID_ARGUMENT for a model that cannot be used;
        FAILED_PRECONDITION for a set without questions.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/StartEvaluation", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Evaluation", answer)

    async def get_evaluation(self, request: GetEvaluationRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Evaluation:
        """GetEvaluation returns an evaluation with its job and, once that has succeeded, its
        measures. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/GetEvaluation", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Evaluation", answer)

    async def list_evaluations(self, request: ListEvaluationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEvaluationsResponse:
        """ListEvaluations returns evaluations, newest first."""
        answer = await self._transport.unary("ragd.v1.EvaluateService/ListEvaluations", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEvaluationsResponse", answer)

    async def delete_evaluation(self, request: DeleteEvaluationRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteEvaluationResponse:
        """DeleteEvaluation deletes an evaluation and cancels its job. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.EvaluateService/DeleteEvaluation", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteEvaluationResponse", answer)

    async def list_evaluation_results(self, request: ListEvaluationResultsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListEvaluationResultsResponse:
        """ListEvaluationResults returns the results of the questions in the order of their ids,
        also while the evaluation is running. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/ListEvaluationResults", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListEvaluationResultsResponse", answer)

    async def compare_evaluations(self, request: CompareEvaluationsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> EvaluationComparison:
        """CompareEvaluations compares two evaluations question by question. Questions that only
        one of them has, or that were changed between them, are left out. Errors: NOT_FOUND;
        FAILED_PRECONDITION for one that has not succeeded, whose results are no longer kept, for two
        that have no question or no k in common, and for one of an index and one of an agent.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/CompareEvaluations", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("EvaluationComparison", answer)

    async def tune_index(self, request: TuneIndexRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Evaluation:
        """TuneIndex starts a job that finds how much the embeddings of an index should weigh for questions like those
        of a set: an evaluation that asks each question with several values of hybrid.vectorLogOdds. The value with the best
        ndcg@10 on one half of the questions is compared with the present one on the other half. With adopt, the queries of the
        index rank by it from then on if the 95% interval of the difference is above 0. Only questions with
        something relevant count, and none that are drafted; the halves are the same each time. It needs the scope write.
        Errors: NOT_FOUND; PERMISSION_DENIED for a credential with a mandatory filter; FAILED_PRECONDITION for fewer
        than 40 such questions, or fewer than 10 in a half; those of a query in hybrid mode.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/TuneIndex", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Evaluation", answer)

    async def restore_tuning(self, request: RestoreTuningRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RestoreTuningResponse:
        """RestoreTuning makes the former tuning of an index its present one, and the present one the former, so that a
        second call takes the first back. Before the first tuning there was none. It needs the scope write. Errors: NOT_FOUND;
        PERMISSION_DENIED for a credential with a mandatory filter; FAILED_PRECONDITION for an index that was never tuned.
        """
        answer = await self._transport.unary("ragd.v1.EvaluateService/RestoreTuning", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RestoreTuningResponse", answer)


class EventService:
    """EventService streams what happens to a tenant. HookService posts the same events to
    addresses of the tenant.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def watch_events(self, request: WatchEventsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[WatchEventsResponse]:
        """WatchEvents sends events from now on, or from a cursor on, until the caller ends the
        stream or its credential becomes invalid. Events are kept for three days. The first
        message has no event: it says that the stream has begun. So has one of every 15 seconds
        without an event.
        
        Needs the scope read. Events of keys, of tools that others called and of alerts of
        others need the scope admin. A credential with a mandatory filter receives events of documents that
        exist and that it may see, and of their jobs; one that is bound to indexes, tools,
        prompts or servers receives events of these. Errors: INVALID_ARGUMENT for an unknown type
        and for the cursor of another credential; FAILED_PRECONDITION for a cursor that is too old;
        RESOURCE_EXHAUSTED for too many streams.
        """
        answer = self._transport.server_stream("ragd.v1.EventService/WatchEvents", request or {}, timeout=timeout, context=context)
        return cast("Iterator[WatchEventsResponse]", answer)


class AsyncEventService:
    """EventService streams what happens to a tenant. HookService posts the same events to
    addresses of the tenant.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def watch_events(self, request: WatchEventsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[WatchEventsResponse]:
        """WatchEvents sends events from now on, or from a cursor on, until the caller ends the
        stream or its credential becomes invalid. Events are kept for three days. The first
        message has no event: it says that the stream has begun. So has one of every 15 seconds
        without an event.
        
        Needs the scope read. Events of keys, of tools that others called and of alerts of
        others need the scope admin. A credential with a mandatory filter receives events of documents that
        exist and that it may see, and of their jobs; one that is bound to indexes, tools,
        prompts or servers receives events of these. Errors: INVALID_ARGUMENT for an unknown type
        and for the cursor of another credential; FAILED_PRECONDITION for a cursor that is too old;
        RESOURCE_EXHAUSTED for too many streams.
        """
        answer = self._transport.server_stream("ragd.v1.EventService/WatchEvents", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[WatchEventsResponse]", answer)


class HookService:
    """HookService manages a tenant's hooks: addresses to which events are posted, signed as
    Standard Webhooks describes (https://www.standardwebhooks.com). An event is delivered at
    least once, with the same webhook-id in every attempt; the order of events is not kept.
    Delivering never delays or fails what the event tells of.
    
    All calls need the scope admin and a credential without a mandatory filter and without
    bounds, because a hook receives the events of the whole tenant.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_hook(self, request: CreateHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> CreateHookResponse:
        """CreateHook creates a hook and returns the secret with which its deliveries are signed.
        Only this answer and that of RotateHookSecret show it. Errors: ALREADY_EXISTS;
        INVALID_ARGUMENT; FAILED_PRECONDITION for an address inside the network of the service;
        RESOURCE_EXHAUSTED when the tenant has too many hooks.
        """
        answer = self._transport.unary("ragd.v1.HookService/CreateHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("CreateHookResponse", answer)

    def get_hook(self, request: GetHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Hook:
        """GetHook returns a hook. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.HookService/GetHook", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Hook", answer)

    def list_hooks(self, request: ListHooksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListHooksResponse:
        """ListHooks returns the hooks in the order of their names."""
        answer = self._transport.unary("ragd.v1.HookService/ListHooks", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListHooksResponse", answer)

    def update_hook(self, request: UpdateHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Hook:
        """UpdateHook changes the given fields and leaves the others. Enabling a hook clears why it
        was disabled. Errors: as CreateHook; NOT_FOUND; ABORTED when another call changed it at
        the same time.
        """
        answer = self._transport.unary("ragd.v1.HookService/UpdateHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Hook", answer)

    def delete_hook(self, request: DeleteHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteHookResponse:
        """DeleteHook deletes a hook, with its deliveries. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.HookService/DeleteHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteHookResponse", answer)

    def rotate_hook_secret(self, request: RotateHookSecretRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RotateHookSecretResponse:
        """RotateHookSecret gives a hook a new secret and returns it. Until the old one expires,
        deliveries are signed with both. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.HookService/RotateHookSecret", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RotateHookSecretResponse", answer)

    def test_hook(self, request: TestHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Delivery:
        """TestHook posts an event of the type hook.test and returns what happened. It tries once,
        also if the hook is disabled. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.HookService/TestHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Delivery", answer)

    def list_deliveries(self, request: ListDeliveriesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDeliveriesResponse:
        """ListDeliveries returns the deliveries of a hook of the last three days, newest first.
        Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.HookService/ListDeliveries", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDeliveriesResponse", answer)

    def replay_delivery(self, request: ReplayDeliveryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Delivery:
        """ReplayDelivery delivers an event again that was delivered or has failed, with the same
        webhook-id. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.HookService/ReplayDelivery", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Delivery", answer)

    def replay_failed(self, request: ReplayFailedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ReplayFailedResponse:
        """ReplayFailed delivers the events again whose deliveries have failed. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.HookService/ReplayFailed", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ReplayFailedResponse", answer)


class AsyncHookService:
    """HookService manages a tenant's hooks: addresses to which events are posted, signed as
    Standard Webhooks describes (https://www.standardwebhooks.com). An event is delivered at
    least once, with the same webhook-id in every attempt; the order of events is not kept.
    Delivering never delays or fails what the event tells of.
    
    All calls need the scope admin and a credential without a mandatory filter and without
    bounds, because a hook receives the events of the whole tenant.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_hook(self, request: CreateHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> CreateHookResponse:
        """CreateHook creates a hook and returns the secret with which its deliveries are signed.
        Only this answer and that of RotateHookSecret show it. Errors: ALREADY_EXISTS;
        INVALID_ARGUMENT; FAILED_PRECONDITION for an address inside the network of the service;
        RESOURCE_EXHAUSTED when the tenant has too many hooks.
        """
        answer = await self._transport.unary("ragd.v1.HookService/CreateHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("CreateHookResponse", answer)

    async def get_hook(self, request: GetHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Hook:
        """GetHook returns a hook. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.HookService/GetHook", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Hook", answer)

    async def list_hooks(self, request: ListHooksRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListHooksResponse:
        """ListHooks returns the hooks in the order of their names."""
        answer = await self._transport.unary("ragd.v1.HookService/ListHooks", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListHooksResponse", answer)

    async def update_hook(self, request: UpdateHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Hook:
        """UpdateHook changes the given fields and leaves the others. Enabling a hook clears why it
        was disabled. Errors: as CreateHook; NOT_FOUND; ABORTED when another call changed it at
        the same time.
        """
        answer = await self._transport.unary("ragd.v1.HookService/UpdateHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Hook", answer)

    async def delete_hook(self, request: DeleteHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteHookResponse:
        """DeleteHook deletes a hook, with its deliveries. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.HookService/DeleteHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteHookResponse", answer)

    async def rotate_hook_secret(self, request: RotateHookSecretRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> RotateHookSecretResponse:
        """RotateHookSecret gives a hook a new secret and returns it. Until the old one expires,
        deliveries are signed with both. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.HookService/RotateHookSecret", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("RotateHookSecretResponse", answer)

    async def test_hook(self, request: TestHookRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Delivery:
        """TestHook posts an event of the type hook.test and returns what happened. It tries once,
        also if the hook is disabled. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.HookService/TestHook", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Delivery", answer)

    async def list_deliveries(self, request: ListDeliveriesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListDeliveriesResponse:
        """ListDeliveries returns the deliveries of a hook of the last three days, newest first.
        Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.HookService/ListDeliveries", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListDeliveriesResponse", answer)

    async def replay_delivery(self, request: ReplayDeliveryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Delivery:
        """ReplayDelivery delivers an event again that was delivered or has failed, with the same
        webhook-id. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.HookService/ReplayDelivery", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Delivery", answer)

    async def replay_failed(self, request: ReplayFailedRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ReplayFailedResponse:
        """ReplayFailed delivers the events again whose deliveries have failed. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.HookService/ReplayFailed", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ReplayFailedResponse", answer)


class IssuerService:
    """IssuerService manages the issuers of a tenant: the authorization servers whose access tokens
    the tenant accepts for itself, beside those of the operator. Such a token is taken in requests
    that name the tenant, by the path /t/{tenant}/mcp or the header Ragd-Tenant, and gives access to
    no other tenant, whatever it says. Calls need the scope admin, and those that change something a
    credential without a mandatory filter and without bounds.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_issuer(self, request: CreateIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Issuer:
        """CreateIssuer adds an issuer. Its keys are fetched when its first token arrives. Errors:
        ALREADY_EXISTS for a name or address that is in use, and for an issuer of the operator;
        RESOURCE_EXHAUSTED beyond 10; FAILED_PRECONDITION for an address that tenants may not use,
        and on a server without a public address.
        """
        answer = self._transport.unary("ragd.v1.IssuerService/CreateIssuer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Issuer", answer)

    def get_issuer(self, request: GetIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Issuer:
        """GetIssuer returns an issuer. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.IssuerService/GetIssuer", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Issuer", answer)

    def list_issuers(self, request: ListIssuersRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListIssuersResponse:
        """ListIssuers returns the issuers in the order of their names."""
        answer = self._transport.unary("ragd.v1.IssuerService/ListIssuers", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListIssuersResponse", answer)

    def update_issuer(self, request: UpdateIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Issuer:
        """UpdateIssuer changes the given fields and leaves the others. Errors: as CreateIssuer."""
        answer = self._transport.unary("ragd.v1.IssuerService/UpdateIssuer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Issuer", answer)

    def delete_issuer(self, request: DeleteIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteIssuerResponse:
        """DeleteIssuer removes an issuer. Its tokens are refused at once on this instance, within
        seconds on all others. Errors: NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.IssuerService/DeleteIssuer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteIssuerResponse", answer)


class AsyncIssuerService:
    """IssuerService manages the issuers of a tenant: the authorization servers whose access tokens
    the tenant accepts for itself, beside those of the operator. Such a token is taken in requests
    that name the tenant, by the path /t/{tenant}/mcp or the header Ragd-Tenant, and gives access to
    no other tenant, whatever it says. Calls need the scope admin, and those that change something a
    credential without a mandatory filter and without bounds.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_issuer(self, request: CreateIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Issuer:
        """CreateIssuer adds an issuer. Its keys are fetched when its first token arrives. Errors:
        ALREADY_EXISTS for a name or address that is in use, and for an issuer of the operator;
        RESOURCE_EXHAUSTED beyond 10; FAILED_PRECONDITION for an address that tenants may not use,
        and on a server without a public address.
        """
        answer = await self._transport.unary("ragd.v1.IssuerService/CreateIssuer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Issuer", answer)

    async def get_issuer(self, request: GetIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Issuer:
        """GetIssuer returns an issuer. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.IssuerService/GetIssuer", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Issuer", answer)

    async def list_issuers(self, request: ListIssuersRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListIssuersResponse:
        """ListIssuers returns the issuers in the order of their names."""
        answer = await self._transport.unary("ragd.v1.IssuerService/ListIssuers", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListIssuersResponse", answer)

    async def update_issuer(self, request: UpdateIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Issuer:
        """UpdateIssuer changes the given fields and leaves the others. Errors: as CreateIssuer."""
        answer = await self._transport.unary("ragd.v1.IssuerService/UpdateIssuer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Issuer", answer)

    async def delete_issuer(self, request: DeleteIssuerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteIssuerResponse:
        """DeleteIssuer removes an issuer. Its tokens are refused at once on this instance, within
        seconds on all others. Errors: NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.IssuerService/DeleteIssuer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteIssuerResponse", answer)


class MemoryService:
    """MemoryService keeps short texts about one user: facts and preferences that later conversations need. A
    memory belongs to the subject of the access token; with an API key, to the user that the request context
    names as user; else to the key. Nobody else reads, finds or deletes it, over no other call either: memories
    are in no index that callers can name. Needs the scope read; admins may list and erase those of others.
    Keys of web pages have no memories. Errors of every call: PERMISSION_DENIED for these.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def remember(self, request: RememberRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Memory:
        """Remember stores a memory, which is found at once. Errors: INVALID_ARGUMENT, naming the field; NOT_FOUND
        for a replaced memory that the caller does not have; FAILED_PRECONDITION for one that was replaced before;
        RESOURCE_EXHAUSTED for a user with too many.
        """
        answer = self._transport.unary("ragd.v1.MemoryService/Remember", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Memory", answer)

    def recall(self, request: RecallRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RecallResponse:
        """Recall returns the caller's memories that answer a question, the best first; none if no memory does.
        Errors: INVALID_ARGUMENT, naming the field.
        """
        answer = self._transport.unary("ragd.v1.MemoryService/Recall", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RecallResponse", answer)

    def list_memories(self, request: ListMemoriesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListMemoriesResponse:
        """ListMemories returns the caller's memories, also those that are no longer valid, the newest first. Errors:
        PERMISSION_DENIED for memories of others without the scope admin, or with a mandatory filter or bounds.
        """
        answer = self._transport.unary("ragd.v1.MemoryService/ListMemories", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListMemoriesResponse", answer)

    def forget(self, request: ForgetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ForgetResponse:
        """Forget erases memories of the caller, each with all its versions; what does not exist is no error.
        Errors: INVALID_ARGUMENT unless exactly one of memory_id, query_text and all is given; as ListMemories.
        """
        answer = self._transport.unary("ragd.v1.MemoryService/Forget", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ForgetResponse", answer)


class AsyncMemoryService:
    """MemoryService keeps short texts about one user: facts and preferences that later conversations need. A
    memory belongs to the subject of the access token; with an API key, to the user that the request context
    names as user; else to the key. Nobody else reads, finds or deletes it, over no other call either: memories
    are in no index that callers can name. Needs the scope read; admins may list and erase those of others.
    Keys of web pages have no memories. Errors of every call: PERMISSION_DENIED for these.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def remember(self, request: RememberRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Memory:
        """Remember stores a memory, which is found at once. Errors: INVALID_ARGUMENT, naming the field; NOT_FOUND
        for a replaced memory that the caller does not have; FAILED_PRECONDITION for one that was replaced before;
        RESOURCE_EXHAUSTED for a user with too many.
        """
        answer = await self._transport.unary("ragd.v1.MemoryService/Remember", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Memory", answer)

    async def recall(self, request: RecallRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> RecallResponse:
        """Recall returns the caller's memories that answer a question, the best first; none if no memory does.
        Errors: INVALID_ARGUMENT, naming the field.
        """
        answer = await self._transport.unary("ragd.v1.MemoryService/Recall", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("RecallResponse", answer)

    async def list_memories(self, request: ListMemoriesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListMemoriesResponse:
        """ListMemories returns the caller's memories, also those that are no longer valid, the newest first. Errors:
        PERMISSION_DENIED for memories of others without the scope admin, or with a mandatory filter or bounds.
        """
        answer = await self._transport.unary("ragd.v1.MemoryService/ListMemories", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListMemoriesResponse", answer)

    async def forget(self, request: ForgetRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> ForgetResponse:
        """Forget erases memories of the caller, each with all its versions; what does not exist is no error.
        Errors: INVALID_ARGUMENT unless exactly one of memory_id, query_text and all is given; as ListMemories.
        """
        answer = await self._transport.unary("ragd.v1.MemoryService/Forget", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("ForgetResponse", answer)


class PlanService:
    """PlanService manages plans: named sets of quotas and features that the operator gives to tenants, by the planName of
    CreateTenant and UpdateTenant. A change of a plan is in force at once on the instance that makes it, within 3 seconds on
    the others, and within 10 for the quota of tokens. Calls need a credential with the scope operator.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_plan(self, request: CreatePlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Plan:
        """CreatePlan creates a plan. Errors: ALREADY_EXISTS; INVALID_ARGUMENT; RESOURCE_EXHAUSTED for more than 200 plans."""
        answer = self._transport.unary("ragd.v1.PlanService/CreatePlan", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Plan", answer)

    def get_plan(self, request: GetPlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Plan:
        """GetPlan returns a plan. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.PlanService/GetPlan", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Plan", answer)

    def list_plans(self, request: ListPlansRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListPlansResponse:
        """ListPlans returns the plans in the order of their names."""
        answer = self._transport.unary("ragd.v1.PlanService/ListPlans", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListPlansResponse", answer)

    def update_plan(self, request: UpdatePlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Plan:
        """UpdatePlan changes the given fields and leaves the others. Nothing of a tenant is deleted that has more than the plan
        allows. Errors: NOT_FOUND; INVALID_ARGUMENT.
        """
        answer = self._transport.unary("ragd.v1.PlanService/UpdatePlan", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Plan", answer)

    def delete_plan(self, request: DeletePlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeletePlanResponse:
        """DeletePlan deletes a plan that no tenant has. Errors: NOT_FOUND; FAILED_PRECONDITION while tenants have it."""
        answer = self._transport.unary("ragd.v1.PlanService/DeletePlan", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeletePlanResponse", answer)


class AsyncPlanService:
    """PlanService manages plans: named sets of quotas and features that the operator gives to tenants, by the planName of
    CreateTenant and UpdateTenant. A change of a plan is in force at once on the instance that makes it, within 3 seconds on
    the others, and within 10 for the quota of tokens. Calls need a credential with the scope operator.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_plan(self, request: CreatePlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Plan:
        """CreatePlan creates a plan. Errors: ALREADY_EXISTS; INVALID_ARGUMENT; RESOURCE_EXHAUSTED for more than 200 plans."""
        answer = await self._transport.unary("ragd.v1.PlanService/CreatePlan", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Plan", answer)

    async def get_plan(self, request: GetPlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Plan:
        """GetPlan returns a plan. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.PlanService/GetPlan", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Plan", answer)

    async def list_plans(self, request: ListPlansRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListPlansResponse:
        """ListPlans returns the plans in the order of their names."""
        answer = await self._transport.unary("ragd.v1.PlanService/ListPlans", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListPlansResponse", answer)

    async def update_plan(self, request: UpdatePlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Plan:
        """UpdatePlan changes the given fields and leaves the others. Nothing of a tenant is deleted that has more than the plan
        allows. Errors: NOT_FOUND; INVALID_ARGUMENT.
        """
        answer = await self._transport.unary("ragd.v1.PlanService/UpdatePlan", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Plan", answer)

    async def delete_plan(self, request: DeletePlanRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeletePlanResponse:
        """DeletePlan deletes a plan that no tenant has. Errors: NOT_FOUND; FAILED_PRECONDITION while tenants have it."""
        answer = await self._transport.unary("ragd.v1.PlanService/DeletePlan", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeletePlanResponse", answer)


class PolicyService:
    """PolicyService manages the policies of a tenant: what happens before and after calls of its tools.
    Policies hold for all calls of tools, over MCP, RPC and OpenAI's API, and those that agents and
    workflows make, for every credential of the tenant. They do not hold for RPCs that do the same as a
    builtin tool. Reading policies needs the scope read, changing them the scope admin, both a credential
    without a mandatory filter or bounds.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_policy(self, request: CreatePolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Policy:
        """CreatePolicy stores a policy, which holds for the next call. Errors: ALREADY_EXISTS for a name in
        use; INVALID_ARGUMENT for an expression or a pattern that is not valid.
        """
        answer = self._transport.unary("ragd.v1.PolicyService/CreatePolicy", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Policy", answer)

    def get_policy(self, request: GetPolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Policy:
        """GetPolicy returns a policy. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.PolicyService/GetPolicy", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Policy", answer)

    def list_policies(self, request: ListPoliciesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListPoliciesResponse:
        """ListPolicies returns the policies in the order of their names."""
        answer = self._transport.unary("ragd.v1.PolicyService/ListPolicies", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListPoliciesResponse", answer)

    def update_policy(self, request: UpdatePolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Policy:
        """UpdatePolicy changes the given fields and leaves the others. Errors: as CreatePolicy; NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.PolicyService/UpdatePolicy", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Policy", answer)

    def delete_policy(self, request: DeletePolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeletePolicyResponse:
        """DeletePolicy deletes a policy. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.PolicyService/DeletePolicy", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeletePolicyResponse", answer)

    def explain_policies(self, request: ExplainPoliciesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ExplainPoliciesResponse:
        """ExplainPolicies says what the policies would do to a call, and calls nothing. Errors: NOT_FOUND for a
        tool that does not exist.
        """
        answer = self._transport.unary("ragd.v1.PolicyService/ExplainPolicies", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ExplainPoliciesResponse", answer)


class AsyncPolicyService:
    """PolicyService manages the policies of a tenant: what happens before and after calls of its tools.
    Policies hold for all calls of tools, over MCP, RPC and OpenAI's API, and those that agents and
    workflows make, for every credential of the tenant. They do not hold for RPCs that do the same as a
    builtin tool. Reading policies needs the scope read, changing them the scope admin, both a credential
    without a mandatory filter or bounds.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_policy(self, request: CreatePolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Policy:
        """CreatePolicy stores a policy, which holds for the next call. Errors: ALREADY_EXISTS for a name in
        use; INVALID_ARGUMENT for an expression or a pattern that is not valid.
        """
        answer = await self._transport.unary("ragd.v1.PolicyService/CreatePolicy", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Policy", answer)

    async def get_policy(self, request: GetPolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Policy:
        """GetPolicy returns a policy. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.PolicyService/GetPolicy", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Policy", answer)

    async def list_policies(self, request: ListPoliciesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListPoliciesResponse:
        """ListPolicies returns the policies in the order of their names."""
        answer = await self._transport.unary("ragd.v1.PolicyService/ListPolicies", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListPoliciesResponse", answer)

    async def update_policy(self, request: UpdatePolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Policy:
        """UpdatePolicy changes the given fields and leaves the others. Errors: as CreatePolicy; NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.PolicyService/UpdatePolicy", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Policy", answer)

    async def delete_policy(self, request: DeletePolicyRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeletePolicyResponse:
        """DeletePolicy deletes a policy. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.PolicyService/DeletePolicy", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeletePolicyResponse", answer)

    async def explain_policies(self, request: ExplainPoliciesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ExplainPoliciesResponse:
        """ExplainPolicies says what the policies would do to a call, and calls nothing. Errors: NOT_FOUND for a
        tool that does not exist.
        """
        answer = await self._transport.unary("ragd.v1.PolicyService/ExplainPolicies", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ExplainPoliciesResponse", answer)


class PromptService:
    """PromptService stores a tenant's own prompts: texts with arguments that users of agents choose
    by name. Over MCP they are listed beside the builtin ones. Changing them needs the scope
    write and a credential without a mandatory filter or bounds.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_prompt(self, request: CreatePromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Prompt:
        """CreatePrompt stores a new prompt, as its version 1."""
        answer = self._transport.unary("ragd.v1.PromptService/CreatePrompt", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Prompt", answer)

    def get_prompt(self, request: GetPromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Prompt:
        """GetPrompt returns a version of a prompt, by default the latest. Errors: NOT_FOUND, also for
        a version that does not exist.
        """
        answer = self._transport.unary("ragd.v1.PromptService/GetPrompt", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Prompt", answer)

    def list_prompts(self, request: ListPromptsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListPromptsResponse:
        """ListPrompts returns the latest version of each prompt in the order of their names."""
        answer = self._transport.unary("ragd.v1.PromptService/ListPrompts", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListPromptsResponse", answer)

    def update_prompt(self, request: UpdatePromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Prompt:
        """UpdatePrompt changes what is given of a prompt. Unless that changes nothing, the result is a
        new version; earlier ones remain.
        """
        answer = self._transport.unary("ragd.v1.PromptService/UpdatePrompt", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Prompt", answer)

    def delete_prompt(self, request: DeletePromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeletePromptResponse:
        """DeletePrompt deletes a prompt with all its versions, or one version that is not the latest."""
        answer = self._transport.unary("ragd.v1.PromptService/DeletePrompt", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeletePromptResponse", answer)

    def get_prompt_messages(self, request: GetPromptMessagesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetPromptMessagesResponse:
        """GetPromptMessages returns the messages of a prompt with the arguments filled in. Errors:
        INVALID_ARGUMENT for an argument that is missing or unknown, and for a URI of no resource;
        NOT_FOUND for a resource that the caller may not read.
        """
        answer = self._transport.unary("ragd.v1.PromptService/GetPromptMessages", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetPromptMessagesResponse", answer)


class AsyncPromptService:
    """PromptService stores a tenant's own prompts: texts with arguments that users of agents choose
    by name. Over MCP they are listed beside the builtin ones. Changing them needs the scope
    write and a credential without a mandatory filter or bounds.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_prompt(self, request: CreatePromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Prompt:
        """CreatePrompt stores a new prompt, as its version 1."""
        answer = await self._transport.unary("ragd.v1.PromptService/CreatePrompt", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Prompt", answer)

    async def get_prompt(self, request: GetPromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Prompt:
        """GetPrompt returns a version of a prompt, by default the latest. Errors: NOT_FOUND, also for
        a version that does not exist.
        """
        answer = await self._transport.unary("ragd.v1.PromptService/GetPrompt", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Prompt", answer)

    async def list_prompts(self, request: ListPromptsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListPromptsResponse:
        """ListPrompts returns the latest version of each prompt in the order of their names."""
        answer = await self._transport.unary("ragd.v1.PromptService/ListPrompts", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListPromptsResponse", answer)

    async def update_prompt(self, request: UpdatePromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Prompt:
        """UpdatePrompt changes what is given of a prompt. Unless that changes nothing, the result is a
        new version; earlier ones remain.
        """
        answer = await self._transport.unary("ragd.v1.PromptService/UpdatePrompt", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Prompt", answer)

    async def delete_prompt(self, request: DeletePromptRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeletePromptResponse:
        """DeletePrompt deletes a prompt with all its versions, or one version that is not the latest."""
        answer = await self._transport.unary("ragd.v1.PromptService/DeletePrompt", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeletePromptResponse", answer)

    async def get_prompt_messages(self, request: GetPromptMessagesRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> GetPromptMessagesResponse:
        """GetPromptMessages returns the messages of a prompt with the arguments filled in. Errors:
        INVALID_ARGUMENT for an argument that is missing or unknown, and for a URI of no resource;
        NOT_FOUND for a resource that the caller may not read.
        """
        answer = await self._transport.unary("ragd.v1.PromptService/GetPromptMessages", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("GetPromptMessagesResponse", answer)


class ResearchService:
    """ResearchService answers questions that no single passage answers: it plans, searches, follows the names in what it finds,
    and returns the passages that answer together. It works by rules and needs no language model.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def research(self, request: ResearchRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ResearchResponse:
        """Research returns the evidence for a question. Needs the scope read; all it reads is within the caller's mandatory filter and
        indexes. When the budget is used up it returns what it has found until then, and says so in stopped. Each of its steps counts as
        a query in the quotas of the tenant. Errors: INVALID_ARGUMENT, naming the field; NOT_FOUND for an index; those of
        QueryService.GraphRag.
        """
        answer = self._transport.unary("ragd.v1.ResearchService/Research", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ResearchResponse", answer)

    def research_stream(self, request: ResearchStreamRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[ResearchEvent]:
        """ResearchStream is Research with the plan, the steps and the findings as they happen. The last event is the result. It ends when
        the caller cancels it.
        """
        answer = self._transport.server_stream("ragd.v1.ResearchService/ResearchStream", request or {}, timeout=timeout, context=context)
        return cast("Iterator[ResearchEvent]", answer)


class AsyncResearchService:
    """ResearchService answers questions that no single passage answers: it plans, searches, follows the names in what it finds,
    and returns the passages that answer together. It works by rules and needs no language model.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def research(self, request: ResearchRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ResearchResponse:
        """Research returns the evidence for a question. Needs the scope read; all it reads is within the caller's mandatory filter and
        indexes. When the budget is used up it returns what it has found until then, and says so in stopped. Each of its steps counts as
        a query in the quotas of the tenant. Errors: INVALID_ARGUMENT, naming the field; NOT_FOUND for an index; those of
        QueryService.GraphRag.
        """
        answer = await self._transport.unary("ragd.v1.ResearchService/Research", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ResearchResponse", answer)

    def research_stream(self, request: ResearchStreamRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[ResearchEvent]:
        """ResearchStream is Research with the plan, the steps and the findings as they happen. The last event is the result. It ends when
        the caller cancels it.
        """
        answer = self._transport.server_stream("ragd.v1.ResearchService/ResearchStream", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[ResearchEvent]", answer)


class SecretService:
    """SecretService manages the secrets that a tenant's tools send to other services, such as
    keys. A tool names one as {{secrets.NAME}}. Values are stored encrypted and cannot be
    read. All calls need the scope admin and a credential without a mandatory filter.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def set_secret(self, request: SetSecretRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SetSecretResponse:
        """SetSecret creates a secret or replaces its value. Errors: INVALID_ARGUMENT;
        FAILED_PRECONDITION if the server has no master key to encrypt it; RESOURCE_EXHAUSTED
        for too many secrets.
        """
        answer = self._transport.unary("ragd.v1.SecretService/SetSecret", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SetSecretResponse", answer)

    def list_secrets(self, request: ListSecretsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListSecretsResponse:
        """ListSecrets returns the secrets in the order of their names, without values."""
        answer = self._transport.unary("ragd.v1.SecretService/ListSecrets", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListSecretsResponse", answer)

    def delete_secret(self, request: DeleteSecretRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteSecretResponse:
        """DeleteSecret deletes a secret. Calls of tools that name it fail from then on. Errors:
        NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.SecretService/DeleteSecret", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteSecretResponse", answer)


class AsyncSecretService:
    """SecretService manages the secrets that a tenant's tools send to other services, such as
    keys. A tool names one as {{secrets.NAME}}. Values are stored encrypted and cannot be
    read. All calls need the scope admin and a credential without a mandatory filter.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def set_secret(self, request: SetSecretRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> SetSecretResponse:
        """SetSecret creates a secret or replaces its value. Errors: INVALID_ARGUMENT;
        FAILED_PRECONDITION if the server has no master key to encrypt it; RESOURCE_EXHAUSTED
        for too many secrets.
        """
        answer = await self._transport.unary("ragd.v1.SecretService/SetSecret", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("SetSecretResponse", answer)

    async def list_secrets(self, request: ListSecretsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListSecretsResponse:
        """ListSecrets returns the secrets in the order of their names, without values."""
        answer = await self._transport.unary("ragd.v1.SecretService/ListSecrets", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListSecretsResponse", answer)

    async def delete_secret(self, request: DeleteSecretRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteSecretResponse:
        """DeleteSecret deletes a secret. Calls of tools that name it fail from then on. Errors:
        NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.SecretService/DeleteSecret", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteSecretResponse", answer)


class ServerService:
    """ServerService manages a tenant's MCP servers. Each is served at /mcp/{server} with tools,
    prompts, indexes, instructions and a request context of its own. The server default is the
    one at /mcp, which shows everything that the caller may use unless it is created here.
    Reading servers needs the scope read, changing them the scope write and a credential
    without a mandatory filter.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_server(self, request: CreateServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Server:
        """CreateServer creates a server. Errors: ALREADY_EXISTS for a name in use;
        INVALID_ARGUMENT; RESOURCE_EXHAUSTED for too many servers. Tools, prompts and indexes
        need not exist: they are shown once they do.
        """
        answer = self._transport.unary("ragd.v1.ServerService/CreateServer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Server", answer)

    def get_server(self, request: GetServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Server:
        """GetServer returns a server with its registry document. Errors: NOT_FOUND, also for a
        server that the credential may not use.
        """
        answer = self._transport.unary("ragd.v1.ServerService/GetServer", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Server", answer)

    def list_servers(self, request: ListServersRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListServersResponse:
        """ListServers returns the servers that the credential may use, in the order of their names."""
        answer = self._transport.unary("ragd.v1.ServerService/ListServers", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListServersResponse", answer)

    def update_server(self, request: UpdateServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Server:
        """UpdateServer changes the given fields and leaves the others. Connected clients are
        notified. Errors: as CreateServer, and NOT_FOUND.
        """
        answer = self._transport.unary("ragd.v1.ServerService/UpdateServer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Server", answer)

    def delete_server(self, request: DeleteServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteServerResponse:
        """DeleteServer deletes a server. Its clients are disconnected. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.ServerService/DeleteServer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteServerResponse", answer)


class AsyncServerService:
    """ServerService manages a tenant's MCP servers. Each is served at /mcp/{server} with tools,
    prompts, indexes, instructions and a request context of its own. The server default is the
    one at /mcp, which shows everything that the caller may use unless it is created here.
    Reading servers needs the scope read, changing them the scope write and a credential
    without a mandatory filter.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_server(self, request: CreateServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Server:
        """CreateServer creates a server. Errors: ALREADY_EXISTS for a name in use;
        INVALID_ARGUMENT; RESOURCE_EXHAUSTED for too many servers. Tools, prompts and indexes
        need not exist: they are shown once they do.
        """
        answer = await self._transport.unary("ragd.v1.ServerService/CreateServer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Server", answer)

    async def get_server(self, request: GetServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Server:
        """GetServer returns a server with its registry document. Errors: NOT_FOUND, also for a
        server that the credential may not use.
        """
        answer = await self._transport.unary("ragd.v1.ServerService/GetServer", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Server", answer)

    async def list_servers(self, request: ListServersRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListServersResponse:
        """ListServers returns the servers that the credential may use, in the order of their names."""
        answer = await self._transport.unary("ragd.v1.ServerService/ListServers", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListServersResponse", answer)

    async def update_server(self, request: UpdateServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Server:
        """UpdateServer changes the given fields and leaves the others. Connected clients are
        notified. Errors: as CreateServer, and NOT_FOUND.
        """
        answer = await self._transport.unary("ragd.v1.ServerService/UpdateServer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Server", answer)

    async def delete_server(self, request: DeleteServerRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteServerResponse:
        """DeleteServer deletes a server. Its clients are disconnected. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.ServerService/DeleteServer", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteServerResponse", answer)


class ToolService:
    """ToolService manages the tools that a tenant defines for its agents, and calls tools for
    applications that do not speak MCP. A tenant's tool is one of the builtin kinds with its own
    name, description and settings. MCP lists it beside the builtin tools, for callers of its
    tenant only. Reading and calling tools needs the scope read, calling those that change
    something the scope write, changing tools the scope write and a credential without a mandatory
    filter.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_tool(self, request: CreateToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tool:
        """CreateTool creates a tool. Errors: ALREADY_EXISTS for a name in use; INVALID_ARGUMENT
        for the name of a builtin tool, and for settings that the kind does not have;
        NOT_FOUND for an index that does not exist.
        """
        answer = self._transport.unary("ragd.v1.ToolService/CreateTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tool", answer)

    def get_tool(self, request: GetToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Tool:
        """GetTool returns a tool of the tenant or a builtin one, with its schemas. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.ToolService/GetTool", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Tool", answer)

    def list_tools(self, request: ListToolsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListToolsResponse:
        """ListTools returns the tools in the order of their names: those of the tenant or, with
        includeBuiltin, all that the caller may call, with their schemas. GetTool, ListTools with
        includeBuiltin, and calls know the tools as an MCP server of the tenant shows them if the
        header Ragd-Server names it.
        """
        answer = self._transport.unary("ragd.v1.ToolService/ListTools", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListToolsResponse", answer)

    def update_tool(self, request: UpdateToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tool:
        """UpdateTool changes the given fields and leaves the others. Errors: as CreateTool."""
        answer = self._transport.unary("ragd.v1.ToolService/UpdateTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tool", answer)

    def delete_tool(self, request: DeleteToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteToolResponse:
        """DeleteTool deletes a tool. Needs the scope write. Errors: NOT_FOUND."""
        answer = self._transport.unary("ragd.v1.ToolService/DeleteTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteToolResponse", answer)

    def call_tool(self, request: CallToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> CallToolResponse:
        """CallTool calls a tool of the tenant or a builtin one, as an MCP client does, and returns
        the same answer. Errors: NOT_FOUND for a tool that does not exist or that the caller may not
        use; INVALID_ARGUMENT for arguments that do not fit the tool's input schema; those of the
        tool.
        """
        answer = self._transport.unary("ragd.v1.ToolService/CallTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("CallToolResponse", answer)

    def call_tool_stream(self, request: CallToolStreamRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[CallToolEvent]:
        """CallToolStream is CallTool with progress: the last message is the answer."""
        answer = self._transport.server_stream("ragd.v1.ToolService/CallToolStream", request or {}, timeout=timeout, context=context)
        return cast("Iterator[CallToolEvent]", answer)


class AsyncToolService:
    """ToolService manages the tools that a tenant defines for its agents, and calls tools for
    applications that do not speak MCP. A tenant's tool is one of the builtin kinds with its own
    name, description and settings. MCP lists it beside the builtin tools, for callers of its
    tenant only. Reading and calling tools needs the scope read, calling those that change
    something the scope write, changing tools the scope write and a credential without a mandatory
    filter.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_tool(self, request: CreateToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tool:
        """CreateTool creates a tool. Errors: ALREADY_EXISTS for a name in use; INVALID_ARGUMENT
        for the name of a builtin tool, and for settings that the kind does not have;
        NOT_FOUND for an index that does not exist.
        """
        answer = await self._transport.unary("ragd.v1.ToolService/CreateTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tool", answer)

    async def get_tool(self, request: GetToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Tool:
        """GetTool returns a tool of the tenant or a builtin one, with its schemas. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.ToolService/GetTool", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Tool", answer)

    async def list_tools(self, request: ListToolsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListToolsResponse:
        """ListTools returns the tools in the order of their names: those of the tenant or, with
        includeBuiltin, all that the caller may call, with their schemas. GetTool, ListTools with
        includeBuiltin, and calls know the tools as an MCP server of the tenant shows them if the
        header Ragd-Server names it.
        """
        answer = await self._transport.unary("ragd.v1.ToolService/ListTools", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListToolsResponse", answer)

    async def update_tool(self, request: UpdateToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Tool:
        """UpdateTool changes the given fields and leaves the others. Errors: as CreateTool."""
        answer = await self._transport.unary("ragd.v1.ToolService/UpdateTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Tool", answer)

    async def delete_tool(self, request: DeleteToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteToolResponse:
        """DeleteTool deletes a tool. Needs the scope write. Errors: NOT_FOUND."""
        answer = await self._transport.unary("ragd.v1.ToolService/DeleteTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteToolResponse", answer)

    async def call_tool(self, request: CallToolRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> CallToolResponse:
        """CallTool calls a tool of the tenant or a builtin one, as an MCP client does, and returns
        the same answer. Errors: NOT_FOUND for a tool that does not exist or that the caller may not
        use; INVALID_ARGUMENT for arguments that do not fit the tool's input schema; those of the
        tool.
        """
        answer = await self._transport.unary("ragd.v1.ToolService/CallTool", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("CallToolResponse", answer)

    def call_tool_stream(self, request: CallToolStreamRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[CallToolEvent]:
        """CallToolStream is CallTool with progress: the last message is the answer."""
        answer = self._transport.server_stream("ragd.v1.ToolService/CallToolStream", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[CallToolEvent]", answer)


class VectorService:
    """VectorService stores and finds ready-made vectors. A write is visible to all later
    calls.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def upsert(self, request: UpsertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> UpsertResponse:
        """Upsert writes all entries or none. An entry replaces an earlier one with its id in
        the namespace; of entries with the same id in one call the last wins. Errors:
        INVALID_ARGUMENT for NaN, infinities, or a dimension other than the index's. Needs
        the scope write.
        """
        answer = self._transport.unary("ragd.v1.VectorService/Upsert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("UpsertResponse", answer)

    def query(self, request: QueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> QueryResponse:
        """Query returns the entries nearest to a vector. Without a vector it returns those that
        the filter selects, in the order of their ids, with score 0. Needs the scope read.
        """
        answer = self._transport.unary("ragd.v1.VectorService/Query", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("QueryResponse", answer)

    def update(self, request: UpdateRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> UpdateResponse:
        """Update changes entries by id or filter. Fields that are not given stay as they are;
        metadata is replaced, not merged. An unknown id is no error. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.VectorService/Update", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("UpdateResponse", answer)

    def delete(self, request: DeleteRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteResponse:
        """Delete removes entries by ids or filter, or a whole namespace if only that is given.
        An unknown id is no error. Needs the scope write.
        """
        answer = self._transport.unary("ragd.v1.VectorService/Delete", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteResponse", answer)


class AsyncVectorService:
    """VectorService stores and finds ready-made vectors. A write is visible to all later
    calls.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upsert(self, request: UpsertRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> UpsertResponse:
        """Upsert writes all entries or none. An entry replaces an earlier one with its id in
        the namespace; of entries with the same id in one call the last wins. Errors:
        INVALID_ARGUMENT for NaN, infinities, or a dimension other than the index's. Needs
        the scope write.
        """
        answer = await self._transport.unary("ragd.v1.VectorService/Upsert", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("UpsertResponse", answer)

    async def query(self, request: QueryRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> QueryResponse:
        """Query returns the entries nearest to a vector. Without a vector it returns those that
        the filter selects, in the order of their ids, with score 0. Needs the scope read.
        """
        answer = await self._transport.unary("ragd.v1.VectorService/Query", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("QueryResponse", answer)

    async def update(self, request: UpdateRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> UpdateResponse:
        """Update changes entries by id or filter. Fields that are not given stay as they are;
        metadata is replaced, not merged. An unknown id is no error. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.VectorService/Update", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("UpdateResponse", answer)

    async def delete(self, request: DeleteRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteResponse:
        """Delete removes entries by ids or filter, or a whole namespace if only that is given.
        An unknown id is no error. Needs the scope write.
        """
        answer = await self._transport.unary("ragd.v1.VectorService/Delete", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteResponse", answer)


class WorkflowService:
    """WorkflowService stores and runs a tenant's workflows: steps that call tools, map values, branch,
    run at once or for each item of a list, and wait for people. Over MCP a workflow is the tool
    run_NAME. Changing workflows needs the scope write and a credential without a mandatory filter or
    bounds. Steps run with the rights of the credential that started the run.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_workflow(self, request: CreateWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Workflow:
        """CreateWorkflow stores a new workflow, as its version 1. Errors: INVALID_ARGUMENT, naming the
        field, for a definition that cannot run: a step, tool or workflow that does not exist, a value
        that does not fit what takes it, or workflows that run each other in a circle.
        """
        answer = self._transport.unary("ragd.v1.WorkflowService/CreateWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Workflow", answer)

    def get_workflow(self, request: GetWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Workflow:
        """GetWorkflow returns a version of a workflow, by default the latest."""
        answer = self._transport.unary("ragd.v1.WorkflowService/GetWorkflow", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Workflow", answer)

    def list_workflows(self, request: ListWorkflowsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListWorkflowsResponse:
        """ListWorkflows returns the latest version of each workflow in the order of their names."""
        answer = self._transport.unary("ragd.v1.WorkflowService/ListWorkflows", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListWorkflowsResponse", answer)

    def update_workflow(self, request: UpdateWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Workflow:
        """UpdateWorkflow stores a definition as the next version, unless it is the same. Runs go on with
        the version that they began with.
        """
        answer = self._transport.unary("ragd.v1.WorkflowService/UpdateWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Workflow", answer)

    def delete_workflow(self, request: DeleteWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteWorkflowResponse:
        """DeleteWorkflow deletes a workflow with all its versions, or one version that is not the latest,
        and cancels their runs. The runs stay in the history.
        """
        answer = self._transport.unary("ragd.v1.WorkflowService/DeleteWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteWorkflowResponse", answer)

    def start_workflow(self, request: StartWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> WorkflowRun:
        """StartWorkflow starts a run and returns it at once."""
        answer = self._transport.unary("ragd.v1.WorkflowService/StartWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("WorkflowRun", answer)

    def run_workflow(self, request: RunWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[RunWorkflowEvent]:
        """RunWorkflow starts a run and sends its steps as they change, then the run once it has ended or
        waits to be resumed. The run goes on when the caller leaves.
        """
        answer = self._transport.server_stream("ragd.v1.WorkflowService/RunWorkflow", request or {}, timeout=timeout, context=context)
        return cast("Iterator[RunWorkflowEvent]", answer)

    def watch_run(self, request: WatchRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Iterator[RunWorkflowEvent]:
        """WatchRun sends a run and its steps as they are, and then what RunWorkflow sends."""
        answer = self._transport.server_stream("ragd.v1.WorkflowService/WatchRun", request or {}, timeout=timeout, context=context)
        return cast("Iterator[RunWorkflowEvent]", answer)

    def get_run(self, request: GetRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> WorkflowRun:
        """GetRun returns a run with its steps. A credential with a mandatory filter or bounds, or without
        the scope write, sees only the runs that it started.
        """
        answer = self._transport.unary("ragd.v1.WorkflowService/GetRun", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("WorkflowRun", answer)

    def list_runs(self, request: ListRunsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListRunsResponse:
        """ListRuns returns runs without their steps, the newest first."""
        answer = self._transport.unary("ragd.v1.WorkflowService/ListRuns", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListRunsResponse", answer)

    def cancel_run(self, request: CancelRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> WorkflowRun:
        """CancelRun cancels a run and stops the step that is running. Errors: FAILED_PRECONDITION for a
        run that has succeeded or failed.
        """
        answer = self._transport.unary("ragd.v1.WorkflowService/CancelRun", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("WorkflowRun", answer)

    def resume_run(self, request: ResumeRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> WorkflowRun:
        """ResumeRun gives a step that waits its data. Errors: INVALID_ARGUMENT for data that does not fit
        the schema of the step; FAILED_PRECONDITION if no such step waits.
        """
        answer = self._transport.unary("ragd.v1.WorkflowService/ResumeRun", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("WorkflowRun", answer)


class AsyncWorkflowService:
    """WorkflowService stores and runs a tenant's workflows: steps that call tools, map values, branch,
    run at once or for each item of a list, and wait for people. Over MCP a workflow is the tool
    run_NAME. Changing workflows needs the scope write and a credential without a mandatory filter or
    bounds. Steps run with the rights of the credential that started the run.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_workflow(self, request: CreateWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Workflow:
        """CreateWorkflow stores a new workflow, as its version 1. Errors: INVALID_ARGUMENT, naming the
        field, for a definition that cannot run: a step, tool or workflow that does not exist, a value
        that does not fit what takes it, or workflows that run each other in a circle.
        """
        answer = await self._transport.unary("ragd.v1.WorkflowService/CreateWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Workflow", answer)

    async def get_workflow(self, request: GetWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> Workflow:
        """GetWorkflow returns a version of a workflow, by default the latest."""
        answer = await self._transport.unary("ragd.v1.WorkflowService/GetWorkflow", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("Workflow", answer)

    async def list_workflows(self, request: ListWorkflowsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListWorkflowsResponse:
        """ListWorkflows returns the latest version of each workflow in the order of their names."""
        answer = await self._transport.unary("ragd.v1.WorkflowService/ListWorkflows", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListWorkflowsResponse", answer)

    async def update_workflow(self, request: UpdateWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> Workflow:
        """UpdateWorkflow stores a definition as the next version, unless it is the same. Runs go on with
        the version that they began with.
        """
        answer = await self._transport.unary("ragd.v1.WorkflowService/UpdateWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("Workflow", answer)

    async def delete_workflow(self, request: DeleteWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> DeleteWorkflowResponse:
        """DeleteWorkflow deletes a workflow with all its versions, or one version that is not the latest,
        and cancels their runs. The runs stay in the history.
        """
        answer = await self._transport.unary("ragd.v1.WorkflowService/DeleteWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("DeleteWorkflowResponse", answer)

    async def start_workflow(self, request: StartWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> WorkflowRun:
        """StartWorkflow starts a run and returns it at once."""
        answer = await self._transport.unary("ragd.v1.WorkflowService/StartWorkflow", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("WorkflowRun", answer)

    def run_workflow(self, request: RunWorkflowRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[RunWorkflowEvent]:
        """RunWorkflow starts a run and sends its steps as they change, then the run once it has ended or
        waits to be resumed. The run goes on when the caller leaves.
        """
        answer = self._transport.server_stream("ragd.v1.WorkflowService/RunWorkflow", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[RunWorkflowEvent]", answer)

    def watch_run(self, request: WatchRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> AsyncIterator[RunWorkflowEvent]:
        """WatchRun sends a run and its steps as they are, and then what RunWorkflow sends."""
        answer = self._transport.server_stream("ragd.v1.WorkflowService/WatchRun", request or {}, timeout=timeout, context=context)
        return cast("AsyncIterator[RunWorkflowEvent]", answer)

    async def get_run(self, request: GetRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> WorkflowRun:
        """GetRun returns a run with its steps. A credential with a mandatory filter or bounds, or without
        the scope write, sees only the runs that it started.
        """
        answer = await self._transport.unary("ragd.v1.WorkflowService/GetRun", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("WorkflowRun", answer)

    async def list_runs(self, request: ListRunsRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None) -> ListRunsResponse:
        """ListRuns returns runs without their steps, the newest first."""
        answer = await self._transport.unary("ragd.v1.WorkflowService/ListRuns", request or {}, timeout=timeout, context=context, idempotent=True)
        return cast("ListRunsResponse", answer)

    async def cancel_run(self, request: CancelRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> WorkflowRun:
        """CancelRun cancels a run and stops the step that is running. Errors: FAILED_PRECONDITION for a
        run that has succeeded or failed.
        """
        answer = await self._transport.unary("ragd.v1.WorkflowService/CancelRun", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("WorkflowRun", answer)

    async def resume_run(self, request: ResumeRunRequest | None = None, *, timeout: float | None = None, context: dict[str, Any] | None = None, idempotency_key: str | None = None) -> WorkflowRun:
        """ResumeRun gives a step that waits its data. Errors: INVALID_ARGUMENT for data that does not fit
        the schema of the step; FAILED_PRECONDITION if no such step waits.
        """
        answer = await self._transport.unary("ragd.v1.WorkflowService/ResumeRun", request or {}, timeout=timeout, context=context, idempotency_key=idempotency_key)
        return cast("WorkflowRun", answer)


__all__ = [
    "Agent",
    "AgentCitation",
    "AgentGrounding",
    "AgentService",
    "AgentStep",
    "AgentToolCall",
    "AgentToolResult",
    "AgentUsage",
    "Alert",
    "AlertMatch",
    "AlertService",
    "AllowedNames",
    "AnswerSettings",
    "AnswerUsage",
    "AnswerVerdict",
    "ApiKey",
    "AppliedProfile",
    "ArchiveService",
    "AskAgentEvent",
    "AskAgentRequest",
    "AskAgentResponse",
    "AskAgentStreamRequest",
    "AsyncAgentService",
    "AsyncAlertService",
    "AsyncArchiveService",
    "AsyncAuditService",
    "AsyncChunkService",
    "AsyncConnectorService",
    "AsyncContextService",
    "AsyncDatabaseService",
    "AsyncDocumentService",
    "AsyncEndpointService",
    "AsyncEvaluateService",
    "AsyncEventService",
    "AsyncHookService",
    "AsyncIndexService",
    "AsyncIssuerService",
    "AsyncMemoryService",
    "AsyncPlanService",
    "AsyncPolicyService",
    "AsyncPromptService",
    "AsyncQueryService",
    "AsyncResearchService",
    "AsyncSecretService",
    "AsyncServerService",
    "AsyncTenantService",
    "AsyncToolService",
    "AsyncUsageService",
    "AsyncVectorService",
    "AsyncWorkflowService",
    "Audiences",
    "AuditEntry",
    "AuditService",
    "AuthorizeConnectorRequest",
    "AuthorizeConnectorResponse",
    "BatchAnswer",
    "BatchQueryRequest",
    "BatchQueryResponse",
    "Boost",
    "Box",
    "Budget",
    "BuildIndexRequest",
    "BuildIndexResponse",
    "ByteRange",
    "CallToolEvent",
    "CallToolRequest",
    "CallToolResponse",
    "CallToolStreamRequest",
    "CancelJobRequest",
    "CancelRunRequest",
    "CheckGroundingRequest",
    "CheckGroundingResponse",
    "ChosenTopic",
    "ChromaConfig",
    "Chunk",
    "ChunkEdge",
    "ChunkService",
    "ChunkTextRequest",
    "ChunkTextResponse",
    "Chunking",
    "ChunkingHeader",
    "ChunkingSection",
    "CompareEvaluationsRequest",
    "Connector",
    "ConnectorCounts",
    "ConnectorItem",
    "ConnectorMetadata",
    "ConnectorRecipe",
    "ConnectorRecipeParameter",
    "ConnectorRun",
    "ConnectorService",
    "ContextKey",
    "ContextService",
    "ContextValue",
    "Correction",
    "CountChunksRequest",
    "CountChunksResponse",
    "CreateAgentRequest",
    "CreateAlertRequest",
    "CreateApiKeyRequest",
    "CreateApiKeyResponse",
    "CreateConnectorRequest",
    "CreateEndpointRequest",
    "CreateHookRequest",
    "CreateHookResponse",
    "CreateIndexRequest",
    "CreateIssuerRequest",
    "CreatePlanRequest",
    "CreatePolicyRequest",
    "CreatePromptRequest",
    "CreateQuestionSetRequest",
    "CreateRankingProfileRequest",
    "CreateServerRequest",
    "CreateTenantRequest",
    "CreateToolRequest",
    "CreateWorkflowRequest",
    "Curated",
    "Curation",
    "Database",
    "DatabaseConfig",
    "DatabaseService",
    "DeclareContextKeyRequest",
    "DeclareContextKeyResponse",
    "DeleteAgentRequest",
    "DeleteAgentResponse",
    "DeleteAlertRequest",
    "DeleteAlertResponse",
    "DeleteAskedQuestionsRequest",
    "DeleteAskedQuestionsResponse",
    "DeleteConnectorRequest",
    "DeleteConnectorResponse",
    "DeleteContextKeyRequest",
    "DeleteContextKeyResponse",
    "DeleteCurationsRequest",
    "DeleteCurationsResponse",
    "DeleteDatabaseRequest",
    "DeleteDatabaseResponse",
    "DeleteDocumentRequest",
    "DeleteDocumentResponse",
    "DeleteDocumentsRequest",
    "DeleteDocumentsResponse",
    "DeleteEndpointRequest",
    "DeleteEndpointResponse",
    "DeleteEvaluationRequest",
    "DeleteEvaluationResponse",
    "DeleteHookRequest",
    "DeleteHookResponse",
    "DeleteIndexRequest",
    "DeleteIndexResponse",
    "DeleteIssuerRequest",
    "DeleteIssuerResponse",
    "DeletePlanRequest",
    "DeletePlanResponse",
    "DeletePolicyRequest",
    "DeletePolicyResponse",
    "DeletePromptRequest",
    "DeletePromptResponse",
    "DeleteQuestionSetRequest",
    "DeleteQuestionSetResponse",
    "DeleteQuestionsRequest",
    "DeleteRankingProfileRequest",
    "DeleteRankingProfileResponse",
    "DeleteRequest",
    "DeleteResponse",
    "DeleteSecretRequest",
    "DeleteSecretResponse",
    "DeleteServerRequest",
    "DeleteServerResponse",
    "DeleteSynonymsRequest",
    "DeleteSynonymsResponse",
    "DeleteTenantRequest",
    "DeleteTenantResponse",
    "DeleteThreadRequest",
    "DeleteThreadResponse",
    "DeleteToolRequest",
    "DeleteToolResponse",
    "DeleteWorkflowRequest",
    "DeleteWorkflowResponse",
    "DeletedDocument",
    "Delivery",
    "DescribeIndexRequest",
    "Document",
    "DocumentService",
    "DownloadDocumentRequest",
    "DownloadDocumentResponse",
    "DraftQuestionsRequest",
    "DraftQuestionsResponse",
    "EmbedRequest",
    "EmbedResponse",
    "Embedding",
    "Endpoint",
    "EndpointHeaders",
    "EndpointModel",
    "EndpointModels",
    "EndpointService",
    "Entry",
    "EraseDeletedRequest",
    "EraseDeletedResponse",
    "EvaluateService",
    "Evaluation",
    "EvaluationComparison",
    "Event",
    "EventService",
    "Example",
    "Explain",
    "ExplainPoliciesRequest",
    "ExplainPoliciesResponse",
    "ExportChunksRequest",
    "ExportChunksResponse",
    "ExportTenantRequest",
    "ExportTenantResponse",
    "ExportedChunk",
    "Extraction",
    "ExtractionFailure",
    "Facet",
    "FacetCounts",
    "FacetRange",
    "FeedSource",
    "FieldWeights",
    "FindUnchangedRequest",
    "FindUnchangedResponse",
    "FolderSource",
    "ForgetRequest",
    "ForgetResponse",
    "GetAgentRequest",
    "GetAlertRequest",
    "GetConnectorRequest",
    "GetContextKeyRequest",
    "GetContextKeyResponse",
    "GetDocumentRequest",
    "GetEndpointRequest",
    "GetEvaluationRequest",
    "GetHookRequest",
    "GetImportRequest",
    "GetIssuerRequest",
    "GetJobRequest",
    "GetPlanRequest",
    "GetPolicyRequest",
    "GetPromptMessagesRequest",
    "GetPromptMessagesResponse",
    "GetPromptRequest",
    "GetQuestionSetRequest",
    "GetQuotasRequest",
    "GetQuotasResponse",
    "GetRankingProfileRequest",
    "GetRunRequest",
    "GetServerRequest",
    "GetTenantMoveRequest",
    "GetTenantRequest",
    "GetThreadRequest",
    "GetToolRequest",
    "GetVectorStoreNamesRequest",
    "GetVectorStoreNamesResponse",
    "GetWorkflowRequest",
    "GitSource",
    "Graph",
    "GraphEdge",
    "GraphExplain",
    "GraphNode",
    "GraphOptions",
    "GraphRagRequest",
    "GraphRagResponse",
    "GraphSettings",
    "GroundedSentence",
    "GroundingMissing",
    "GroundingQuote",
    "GroundingSource",
    "GroundingText",
    "GroupBy",
    "Highlight",
    "Hit",
    "HnswConfig",
    "Hook",
    "HookFilter",
    "HookHeaders",
    "HookService",
    "HttpSource",
    "Hybrid",
    "ImportOptions",
    "ImportTenantRequest",
    "ImportTenantResponse",
    "Index",
    "IndexConfig",
    "IndexService",
    "IndexTuning",
    "IndexWeight",
    "Issuer",
    "IssuerService",
    "IvfConfig",
    "Job",
    "JobProgress",
    "KeptDocument",
    "Like",
    "ListAgentsRequest",
    "ListAgentsResponse",
    "ListAlertMatchesRequest",
    "ListAlertMatchesResponse",
    "ListAlertsRequest",
    "ListAlertsResponse",
    "ListApiKeysRequest",
    "ListApiKeysResponse",
    "ListAuditEntriesRequest",
    "ListAuditEntriesResponse",
    "ListChunksRequest",
    "ListChunksResponse",
    "ListConnectorItemsRequest",
    "ListConnectorItemsResponse",
    "ListConnectorRecipesRequest",
    "ListConnectorRecipesResponse",
    "ListConnectorsRequest",
    "ListConnectorsResponse",
    "ListContextKeysRequest",
    "ListContextKeysResponse",
    "ListCurationsRequest",
    "ListCurationsResponse",
    "ListDatabasesRequest",
    "ListDatabasesResponse",
    "ListDeletedRequest",
    "ListDeletedResponse",
    "ListDeliveriesRequest",
    "ListDeliveriesResponse",
    "ListDocumentsRequest",
    "ListDocumentsResponse",
    "ListEdgesRequest",
    "ListEdgesResponse",
    "ListEndpointsRequest",
    "ListEndpointsResponse",
    "ListEvaluationResultsRequest",
    "ListEvaluationResultsResponse",
    "ListEvaluationsRequest",
    "ListEvaluationsResponse",
    "ListHooksRequest",
    "ListHooksResponse",
    "ListIndexesRequest",
    "ListIndexesResponse",
    "ListIssuersRequest",
    "ListIssuersResponse",
    "ListJobsRequest",
    "ListJobsResponse",
    "ListMemoriesRequest",
    "ListMemoriesResponse",
    "ListNotableQuestionsRequest",
    "ListNotableQuestionsResponse",
    "ListPlansRequest",
    "ListPlansResponse",
    "ListPoliciesRequest",
    "ListPoliciesResponse",
    "ListPromptsRequest",
    "ListPromptsResponse",
    "ListQuestionSetsRequest",
    "ListQuestionSetsResponse",
    "ListQuestionsRequest",
    "ListQuestionsResponse",
    "ListRankingProfilesRequest",
    "ListRankingProfilesResponse",
    "ListRunsRequest",
    "ListRunsResponse",
    "ListSecretsRequest",
    "ListSecretsResponse",
    "ListServersRequest",
    "ListServersResponse",
    "ListSynonymsRequest",
    "ListSynonymsResponse",
    "ListTablesRequest",
    "ListTablesResponse",
    "ListTenantMovesRequest",
    "ListTenantMovesResponse",
    "ListTenantsRequest",
    "ListTenantsResponse",
    "ListThreadsRequest",
    "ListThreadsResponse",
    "ListToolsRequest",
    "ListToolsResponse",
    "ListTopicsRequest",
    "ListTopicsResponse",
    "ListUsageRequest",
    "ListUsageResponse",
    "ListWorkflowsRequest",
    "ListWorkflowsResponse",
    "McpOAuth",
    "McpOffer",
    "McpSource",
    "McpTemplate",
    "Measure",
    "MeasureDifference",
    "Memory",
    "MemoryService",
    "MemorySource",
    "MetadataField",
    "MetadataIndexes",
    "MoveTenantRequest",
    "MysqlSource",
    "NotableQuestion",
    "OmittedSource",
    "OrderBy",
    "PageBoxes",
    "PauseConnectorRequest",
    "PgVectorConfig",
    "PineconeConfig",
    "Place",
    "Plan",
    "PlanFeatures",
    "PlanService",
    "Policy",
    "PolicyDecision",
    "PolicyRedaction",
    "PolicyResult",
    "PolicyService",
    "PostgresReplication",
    "PostgresSource",
    "PresentedTool",
    "PresentedTools",
    "PreviewAlertRequest",
    "PreviewAlertResponse",
    "PreviewedPassage",
    "Prompt",
    "PromptArgument",
    "PromptArguments",
    "PromptMedia",
    "PromptMessage",
    "PromptMessages",
    "PromptResource",
    "PromptService",
    "PutCurationsRequest",
    "PutCurationsResponse",
    "PutQuestionsRequest",
    "PutSynonymsRequest",
    "PutSynonymsResponse",
    "QueryError",
    "QueryRequest",
    "QueryResponse",
    "QueryResult",
    "QueryService",
    "QueryTableRequest",
    "QueryTableResponse",
    "Question",
    "QuestionAnswer",
    "QuestionChange",
    "QuestionHit",
    "QuestionResult",
    "QuestionSet",
    "Quota",
    "RangeCount",
    "Ranking",
    "RankingProfile",
    "ReadDocumentRequest",
    "ReadDocumentResponse",
    "RebuildGraphRequest",
    "RebuildGraphResponse",
    "RecallRequest",
    "RecallResponse",
    "Recency",
    "RecordFeedbackRequest",
    "RecordFeedbackResponse",
    "ReencryptSecretsRequest",
    "ReencryptSecretsResponse",
    "RegisterDatabaseRequest",
    "Relevant",
    "RememberRequest",
    "RenderPageRequest",
    "RenderPageResponse",
    "RepairTenantRequest",
    "RepairTenantResponse",
    "ReplayDeliveryRequest",
    "ReplayFailedRequest",
    "ReplayFailedResponse",
    "RerankDetails",
    "RerankRequest",
    "RerankResponse",
    "RerankedSource",
    "Reranker",
    "RerankerOptions",
    "RerankerWeights",
    "Reranking",
    "ResearchBudget",
    "ResearchEvent",
    "ResearchFinding",
    "ResearchPart",
    "ResearchPassage",
    "ResearchPlan",
    "ResearchQuote",
    "ResearchRelation",
    "ResearchRequest",
    "ResearchResponse",
    "ResearchService",
    "ResearchStatement",
    "ResearchStep",
    "ResearchStreamRequest",
    "ResourceContent",
    "RestoreDocumentsRequest",
    "RestoreDocumentsResponse",
    "RestoreTenantRequest",
    "RestoreTuningRequest",
    "RestoreTuningResponse",
    "RestoredDocument",
    "ResumeConnectorRequest",
    "ResumeRunRequest",
    "RetryJobRequest",
    "RevokeApiKeyRequest",
    "RevokeApiKeyResponse",
    "RotateHookSecretRequest",
    "RotateHookSecretResponse",
    "RunWorkflowEvent",
    "RunWorkflowRequest",
    "S3Source",
    "SearchWidth",
    "Secret",
    "SecretHosts",
    "SecretService",
    "Server",
    "ServerIcon",
    "ServerIcons",
    "ServerRepository",
    "ServerService",
    "SetSecretRequest",
    "SetSecretResponse",
    "SetVectorStoreNamesRequest",
    "SetVectorStoreNamesResponse",
    "SignTest",
    "SituateDocumentsRequest",
    "SituateDocumentsResponse",
    "SleepTenantRequest",
    "Source",
    "SourceDocument",
    "SourceGroup",
    "SparseVector",
    "SqliteSource",
    "Stage",
    "StartEvaluationRequest",
    "StartWorkflowRequest",
    "StepRun",
    "SuggestRequest",
    "SuggestResponse",
    "Suggestion",
    "SyncConnectorRequest",
    "SyncSourceRequest",
    "SyncSourceResponse",
    "Synonym",
    "SynonymUse",
    "Table",
    "TableColumn",
    "TableJoin",
    "TableJoinPair",
    "TableOrder",
    "TablePlan",
    "TableRow",
    "TableSource",
    "TableValue",
    "Tenant",
    "TenantImport",
    "TenantMove",
    "TenantRows",
    "TenantService",
    "TestConnectorRequest",
    "TestConnectorResponse",
    "TestEndpointRequest",
    "TestEndpointResponse",
    "TestHookRequest",
    "Thread",
    "ThreadMessage",
    "Tool",
    "ToolAnnotations",
    "ToolProgress",
    "ToolQuestion",
    "ToolService",
    "Topic",
    "TopicChunk",
    "TopicDocument",
    "TruncateIndexRequest",
    "TruncateIndexResponse",
    "TuneIndexRequest",
    "TuningCandidate",
    "TuningOutcome",
    "TuningSettings",
    "UpdateAgentRequest",
    "UpdateAlertRequest",
    "UpdateConnectorRequest",
    "UpdateDatabaseRequest",
    "UpdateEndpointRequest",
    "UpdateHookRequest",
    "UpdateIndexRequest",
    "UpdateIssuerRequest",
    "UpdatePlanRequest",
    "UpdatePolicyRequest",
    "UpdatePromptRequest",
    "UpdateQuestionSetRequest",
    "UpdateRankingProfileRequest",
    "UpdateRequest",
    "UpdateResponse",
    "UpdateServerRequest",
    "UpdateTenantRequest",
    "UpdateToolRequest",
    "UpdateWorkflowRequest",
    "UploadDocumentRequest",
    "UploadDocumentResponse",
    "UploadDocumentsRequest",
    "UploadDocumentsResponse",
    "UploadError",
    "UploadPreview",
    "UploadResult",
    "UpsertRequest",
    "UpsertResponse",
    "Usage",
    "UsageService",
    "ValueCount",
    "VectorQueryRequest",
    "VectorQueryResponse",
    "VectorService",
    "WakeTenantRequest",
    "WatchEventsRequest",
    "WatchEventsResponse",
    "WatchJobRequest",
    "WatchRunRequest",
    "WebSource",
    "WhoAmIRequest",
    "WhoAmIResponse",
    "Workflow",
    "WorkflowRun",
    "WorkflowService",
]
