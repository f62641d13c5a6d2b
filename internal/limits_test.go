package internal

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// documentedLimits lists rows of pages and the constants whose values they give. A row
// begins with the text.
var documentedLimits = []struct {
	page, row string
	constants string // separated by spaces, as package.name below internal
}{
	{"limits", "message over Connect", "rpc.MaxMessageBytes/bytes"},
	{"limits", "large messages being received", "admission.smallBytes/bytes admission.maxWait"},
	{"limits", "compressed message", "admission.maxRatio admission.freeRatioBytes/bytes rpc.maxQueryBytes/bytes"},
	{"limits", "time in which a message must arrive", "admission.MaxArrival"},
	{"limits", "message to health checks", "rpc.maxOpenBytes/bytes rpc.maxOpenBodyBytes/bytes"},
	{"limits", "time in which nothing of a request's body", "httpserver.MaxPause"},
	{"limits", "time of a unary call", "rpc.unaryTimeout"},
	{"limits", "lines of the log about", "logrepeat.maxOfCaller logrepeat.maxOfKind"},
	{"limits", "`maxStaleness` of a query", "replica.MaxStaleness"},
	{"limits", "replicas in `database-read-urls`", "replica.MaxReplicas"},
	{"limits", "write tokens of a query", "replica.MaxTokens"},
	{"limits", "registered databases", "placement.MaxDatabases"},
	{"limits", "connections for requests to a registered", "placement.MaxConnections placement.DefaultConnections"},
	{"limits", "URL of a database", "placement.maxURLBytes"},
	{"limits", "time to connect to a database", "placement.registerTimeout"},
	{"limits", "wait of a call, and of the start", "placement.openWait"},
	{"limits", "statement of a tenant that leaves", "tenant.moveAttempts"},
	{"limits", "time for which writes of a tenant that is moved", "move.MaxStop"},
	{"limits", "time of an attempt to move", "move.maxTime"},
	{"limits", "attempts of a move", "move.maxAttempts"},
	{"limits", "copy of a moved tenant", "move.DefaultKeep"},
	{"limits", "exports, and imports", "archive.MaxAtOnce"},
	{"limits", "time of an export", "archive.MaxTime"},
	{"limits", "a frame, and", "archive/frame.MaxBytes/bytes"},
	{"limits", "frames that a caller", "archive.MaxKnown"},
	{"limits", "rows that an import", "archive.batchBytes/bytes"},
	{"limits", "rows of a frame", "archive.maxFrameRows"},
	{"limits", "JSON of the first frame", "archive.maxDescription/bytes archive.maxManifestEntry"},
	{"limits", "rights of a connector, run", "tenant.maxDelegationBytes/bytes connector.maxRestoredBytes/bytes"},
	{"limits", "request context", "tenant.maxOverridesBytes/bytes"},
	{"limits", "page of a list", "pagination.MaxSize"},
	{"limits", "waiting for a job within a call", "toolset.maxWait"},
	{"limits", "waiting calls of a tenant", "toolset.maxWaiting"},
	{"limits", "concurrent messages of an SSE session", "mcp/mcphttp.maxSSEBacklog"},
	{"limits", "stored sessions of a tenant", "mcp/mcphttp.maxStoredSessions"},
	{"limits", "parameters of `initialize`", "mcp/mcphttp.maxClientBytes/bytes"},
	{"limits", "stored subscriptions of a session", "mcp/mcphttp.maxStoredSubscriptions"},
	{"limits", "cancellation or answer that another", "mcp/mcphttp.maxSentBytes/bytes"},
	{"limits", "time that an instance waits for the database about", "mcp/mcphttp.storeTimeout"},
	{"limits", "time that another instance has to hand", "mcp/mcphttp.resumeWait"},
	{"limits", "chunks of one read of a resource", "mcp.maxChunksRead"},
	{"limits", "endpoints of tenants that", "doctor.MaxEndpoints"},
	{"limits", "subscriptions of a tenant", "mcp.maxSubscriptions"},
	{"limits", "free space of the embedded", "storage.leastFree/bytes"},
	{"limits", "data of a tenant", "storage.countTTL"},
	{"limits", "files of a tenant", "openai.maxFiles"},
	{"limits", "file |", "openai.maxFileNameBytes"},
	{"limits", "fields of the form", "openai.maxFields openai.maxFieldBytes/bytes openai.maxPartHeadBytes/bytes"},
	{"limits", "`file_ids` of a vector store", "openai.maxBatchFiles"},
	{"limits", "batches of a tenant", "openai.maxBatches"},
	{"limits", "`name` of a vector store", "openai.maxStoreNameBytes"},
	{"limits", "`metadata` and `attributes`", "openai.maxMetadata openai.maxMetadataKey openai.maxMetadataValue"},
	{"limits", "static chunking", "openai.minChunkTokens openai.maxChunkTokens"},
	{"limits", "results of a search", "openai.maxResults openai.maxQuestions"},
	{"limits", "text of a file in one answer", "openai.maxReadBytes/bytes"},
	{"limits", "time of a request, but", "openai.maxTime"},
	{"limits", "memory of answers that are being received", "openai.segmentBytes/bytes"},
	{"limits", "time in which the caller must receive", "openai.pieceBytes/bytes openai.maxWrite"},
	{"limits", "servers of a tenant", "server.maxServers"},
	{"limits", "`instructions`", "server.maxInstructionsBytes/bytes"},
	{"limits", "`icons`", "server.maxIcons server.maxIconURLBytes server.maxIconBytes/bytes"},
	{"limits", "`presented`", "server.maxPresented"},
	{"limits", "`defaultContext`", "server.maxContextBytes/bytes"},
	{"limits", "a definition as a whole", "server.maxDefinitionBytes/bytes"},
	{"limits", "use of a changed definition", "server.cacheTTL"},
	{"limits", "`displayName`", "tenant.maxDisplayNameBytes"},
	{"limits", "`settings` | 16 KiB of JSON; `maxIndexes`", "tenant.maxSettingsBytes/bytes tenant.maxQuota"},
	{"limits", "`maxDocuments` in the", "tenant.maxTokenQuota"},
	{"limits", "`maxDocumentBytes` in the", "tenant.maxByteQuota"},
	{"limits", "`maxTokensPerMonth` in the", "tenant.maxTokenQuota"},
	{"limits", "rows of usage", "usage.DefaultRetention usage.minRetention"},
	{"limits", "time until usage is in the rows", "usage.FlushInterval"},
	{"limits", "counts that wait in memory", "usage.maxWaiting"},
	{"limits", "entries of the log", "audit.DefaultRetention audit.MinRetention"},
	{"limits", "administrative actions of a tenant", "audit.actionBurst audit.actionRate"},
	{"limits", "names in an entry", "audit.maxNames audit.maxNameBytes"},
	{"limits", "sums of denied calls", "audit.maxDenials audit.period"},
	{"limits", "first and last use of a key", "tenant.keyUseInterval tenant.maxKeyUses"},
	{"limits", "time until new files of a certificate", "httpserver.certificateInterval"},
	{"limits", "`vectorStoreNames` of a tenant", "tenant.maxStores"},
	{"limits", "servers, indexes, tools and prompts", "tenant.maxBoundNames tenant.maxBoundNameBytes"},
	{"limits", "`attributes` of a key", "tenant.maxAttributesBytes/bytes"},
	{"limits", "issuers of a tenant", "tenant.maxIssuers tenant.maxIssuerAudiences"},
	{"limits", "tokens of a tenant's own issuers", "tenant/oauth.maxVerifying"},
	{"limits", "issuers of tenants whose keys", "tenant/oauth.maxOwnVerifiers"},
	{"limits", "time that a browser stays signed in", "console.SessionLife"},
	{"limits", "time that a link of", "console.LinkLife"},
	{"limits", "time for a log-in at", "console.LoginLife"},
	{"limits", "sessions, and unused links", "console.MaxSessions"},
	{"limits", "request to `/console/`", "console.maxBody/bytes console.maxArrival"},
	{"limits", "failing sign-ins of an address", "console.MaxFailures console.failureEvery"},
	{"limits", "log-ins begun at an authorization", "console.MaxLogins console.loginEvery"},
	{"limits", "path to return to after", "console.maxReturn/bytes"},
	{"limits", "access tokens that are renewed at once", "console.maxRenewing"},
	{"limits", "use of a session that was ended", "console.fresh"},
	{"limits", "streams of events of a tenant", "event/journal.maxWatchersPerTenant"},
	{"limits", "streams of events of all", "event/journal.maxWatchers"},
	{"limits", "`indexes`, `tools` of a stream", "event/journal.maxFilterNames event/journal.maxFilterNameBytes"},
	{"limits", "events that are kept", "event/journal.DefaultAge event/journal.DefaultEvents event/journal.DefaultBytes/bytes event/journal.sweepEvery"},
	{"limits", "arguments, result of one event", "event/journal.maxRecordedBytes/bytes"},
	{"limits", "events of tools that wait", "event/journal.maxWaitingBytes/bytes event/journal.maxWaitingBytesPerTenant/bytes"},
	{"limits", "time between two messages of a stream", "event/journal.heartbeat"},
	{"limits", "connectors of a tenant", "connector.maxConnectors"},
	{"limits", "`description` of a connector", "connector.maxDescriptionBytes"},
	{"limits", "`metadata` of a connector", "connector.maxMetadata connector.maxMetadataName"},
	{"limits", "`maxItems` of a connector", "connector.maxItems connector.defaultItems"},
	{"limits", "`schedule`", "connector.maxScheduleBytes connector.minInterval connector.maxJitter"},
	{"limits", "bytes, requests of a run", "connector.maxRunBytes/bytes connector.maxRunRequests"},
	{"limits", "time of a run |", "connector.maxRunTime"},
	{"limits", "time of a request to a source", "connector.requestTimeout connector.maxAttempts connector.maxRetryAfter"},
	{"limits", "redirects of robots.txt", "connector.maxRedirects"},
	{"limits", "connectors that run at once", "connector.maxAtOncePerTenant"},
	{"limits", "items and time of `TestConnector`", "connector.maxTestItems connector.maxTestTime"},
	{"limits", "`include`, `exclude` of a website", "connector.maxPatterns connector.maxPatternBytes"},
	{"limits", "`maxDepth` of a website", "connector.maxDepth connector.defaultDepth"},
	{"limits", "`delayMs` of a website", "connector.maxDelay connector.defaultDelay"},
	{"limits", "address of a page", "connector.maxPageURLBytes"},
	{"limits", "links of a page", "connector.maxLinks connector.maxLinkBytes/bytes"},
	{"limits", "robots.txt |", "connector.maxRobotsBytes/bytes"},
	{"limits", "address, branch, user of a repository", "connector.maxGitURLBytes connector.maxBranchBytes connector.maxUserBytes"},
	{"limits", "`include`, `exclude` of a repository", "connector.maxPatterns connector.maxPatternBytes"},
	{"limits", "address, region, prefix, access key of a bucket", "connector.maxEndpointBytes connector.maxRegionBytes connector.maxPrefixBytes connector.maxAccessBytes"},
	{"limits", "`include`, `exclude` of a bucket", "connector.maxPatterns connector.maxPatternBytes"},
	{"limits", "`query` of a database", "connector.maxQueryBytes connector.maxColumnBytes"},
	{"limits", "time of a statement in a database", "connector.maxStatementTime"},
	{"limits", "columns of a row besides", "connector.maxColumnsBytes/bytes"},
	{"limits", "id and time of a row", "connector.maxListedBytes/bytes"},
	{"limits", "rows that are listed", "connector.rowsPerPage connector.rowsPerRead"},
	{"limits", "path of a folder", "connector.maxFolderBytes"},
	{"limits", "`include`, `exclude` of a folder", "connector.maxPatterns connector.maxPatternBytes"},
	{"limits", "files and folders in a folder", "connector.maxTreeEntries connector.maxTreeDepth"},
	{"limits", "folders of a connector whose", "connector.maxWatchedFolders connector.settleTime"},
	{"limits", "path of a file", "connector.maxItemPathBytes"},
	{"limits", "files and folders of a commit", "connector.maxTreeEntries connector.maxTreeDepth"},
	{"limits", "objects, with their bytes", "connector.maxPackObjects connector.maxPackObjectBytes/bytes connector.maxRunBytes/bytes"},
	{"limits", "names of branches and tags", "connector.maxRefsBytes/bytes"},
	{"limits", "feed |", "connector.maxFeedBytes/bytes connector.maxRedirects"},
	{"limits", "sitemap |", "connector.maxSitemapBytes/bytes connector.maxSitemaps connector.maxSitemapLevels"},
	{"limits", "headers of an MCP server", "mcpclient.maxHeaders mcpclient.maxHeaderBytes/bytes"},
	{"limits", "`timeoutMs` of an MCP server", "mcpclient.maxTimeout mcpclient.defaultTimeout"},
	{"limits", "`templates` of an MCP server", "connector.maxTemplates connector.maxTemplateArguments connector.maxArgumentBytes"},
	{"limits", "uri of a resource of an MCP server", "connector.maxResourceURIBytes"},
	{"limits", "answer of an MCP server with a resource", "connector.maxResourceAnswer/bytes"},
	{"limits", "pages of a list of an MCP server", "mcpclient.maxPages connector.maxEmptyPages"},
	{"limits", "descriptions of resources", "connector.maxResourceText"},
	{"limits", "resources in a row that a lost", "connector.maxFailuresInARow"},
	{"limits", "MCP servers that are followed", "connector.maxFollowed connector.maxFollowedPerTenant"},
	{"limits", "resources to which a connector", "connector.maxSubscriptions"},
	{"limits", "requests for following an MCP server", "connector.maxFollowRequests connector.followWindow connector.exhaustedPause"},
	{"limits", "bytes of what a followed MCP server sends", "connector.maxFollowBytes/bytes connector.followWindow connector.exhaustedPause"},
	{"limits", "time between runs because of changes", "connector.minChangeInterval"},
	{"limits", "`oauth` of an MCP server", "connector.maxScopes connector.maxScopeBytes connector.maxClientID"},
	{"limits", "tools, and prompts, that a connector lends", "connector.maxOffered connector.maxOfferedNameBytes connector.maxPromptArguments"},
	{"limits", "what a connector lends, together", "connector.maxOffersBytes/bytes"},
	{"limits", "`prefix` of what a connector lends", "connector.maxToolPrefixBytes connector.maxOfferedDescription/bytes"},
	{"limits", "prompt of an MCP server", "connector.maxPromptMessages connector.maxPromptBytes/bytes"},
	{"limits", "questions of one call of an MCP server", "mcptool.maxAsked mcptool.maxAskedBytes/bytes mcptool.maxMessageBytes/bytes"},
	{"limits", "log message of an MCP server", "mcptool.maxLogBytes/bytes"},
	{"limits", "time until a user must have signed in", "connector.authorizeTime"},
	{"limits", "documents about an authorization server", "oauthclient.maxDocumentBytes/bytes oauthclient.maxTokenBytes/bytes oauthclient.requestTimeout"},
	{"limits", "hooks of a tenant", "hook.maxHooks"},
	{"limits", "`description` of a hook", "hook.maxDescriptionBytes"},
	{"limits", "`events`, `tools`, `indexes` of a hook", "hook.maxEvents hook.maxNames hook.maxNameBytes"},
	{"limits", "`headers` of a hook", "hook.maxHeaders hook.maxHeaderBytes/bytes"},
	{"limits", "`maxPayloadBytes`", "hook.minPayloadBytes/bytes hook.maxPayloadBytes/bytes hook.defaultPayloadBytes/bytes"},
	{"limits", "`graceSeconds`", "hook.defaultGrace"},
	{"limits", "time of an attempt to deliver", "hook.attemptTimeout"},
	{"limits", "answer to a delivery", "hook.maxAnswerBytes/bytes hook.maxExcerptBytes/bytes"},
	{"limits", "attempts to deliver", "hook.maxAttempts hook.firstRetry hook.maxRetry hook.maxRetryAfter"},
	{"limits", "hook that fails again", "hook.probeAfter hook.maxProbePause hook.disableAfter hook.disableAfterFailures"},
	{"limits", "deliveries at once", "hook.maxAtOnce hook.maxAtOncePerTenant hook.maxAtOncePerHook"},
	{"limits", "claims of an access token", "tenant/oauth.maxClaimsBytes/bytes"},
	{"limits", "use of a revoked key", "tenant.keyCacheTTL"},
	{"limits", "access token", "tenant/oauth.maxTokenBytes/bytes"},
	{"limits", "answer of the authorization server", "tenant/oauth.maxAnswerBytes/bytes tenant/oauth.maxKeys tenant/oauth.fetchTimeout"},
	{"limits", "RSA key of the issuer", "tenant/oauth.minRSABits"},
	{"limits", "requests to the issuer for unknown keys", "tenant/oauth.minRefetch"},
	{"limits", "use of cached keys", "tenant/oauth.maxKeyAge"},
	{"limits", "use of a cached introspection result", "tenant/oauth.introspectionTTL"},
	{"limits", "concurrent introspection requests", "tenant/oauth.maxRequests tenant/oauth.maxUnverified"},
	{"limits", "unknown tokens of one address", "tenant/oauth.maxWaiting"},
	{"limits", "events kept of a stream", "mcp/mcphttp.maxHeldEvents mcp/mcphttp.maxHeldBytes/bytes mcp/mcphttp.maxHeldStreams"},
	{"limits", "events kept for a tenant", "mcp/mcphttp.maxTenantHeldBytes/bytes"},
	{"limits", "indexes of a tenant", "index.DefaultMaxIndexes"},
	{"limits", "`dimension`", "index.MaxDimension index.MaxBits"},
	{"limits", "values of a `sparsevec`", "index.maxIndexedNonZeros"},
	{"limits", "`sparseValues` beside `values`", "index.maxSparseNonZeros"},
	{"limits", "`metadataIndexes`", "index.maxMetadataIndexes"},
	{"limits", "graph loaded for a query", "graph.maxHops"},
	{"limits", "nodes of an explained walk", "graph.MaxExplained graph.defaultExplained graph.maxExplainedEdges"},
	{"limits", "edges of a chunk", "graph.MaxListedEdges"},
	{"limits", "chunks of a graph whose components", "graph.maxCounted"},
	{"limits", "chunks of an index whose topics", "graph.maxTopicChunks"},
	{"limits", "topics of an index", "graph.maxTopics graph.maxSubtopics"},
	{"limits", "chunks of a topic", "graph.leastTopic graph.leastSmall graph.smallIndex"},
	{"limits", "wait of `ListTopics`", "graph.topicsWait"},
	{"limits", "delay of finding topics", "graph.maxDebounce"},
	{"limits", "time until other instances use a changed index", "index.cacheTTL"},
	{"limits", "endpoints of a tenant", "endpoint/own.maxEndpoints"},
	{"limits", "`baseUrl`", "outbound.MaxURLBytes/bytes"},
	{"limits", "`apiKey`", "endpoint/own.maxKeyBytes/bytes"},
	{"limits", "`headers`", "endpoint/own.maxHeaders endpoint/own.maxHeaderBytes/bytes"},
	{"limits", "`models` | 100", "endpoint/own.maxModels endpoint/own.maxPrefixBytes/bytes"},
	{"limits", "`maxConcurrentCalls`", "endpoint/own.maxConcurrentCalls endpoint/own.defaultConcurrentCalls"},
	{"limits", "`requestsPerSecond`", "endpoint/own.maxRate"},
	{"limits", "answer of a tenant's endpoint", "endpoint.maxGuardedAnswer/bytes"},
	{"limits", "answer of an operator's endpoint", "endpoint.maxAnswer/bytes"},
	{"limits", "texts of one request for embeddings", "embed.maxBatchTexts"},
	{"limits", "failed calls in a row", "endpoint.blowAfter endpoint.minBlown endpoint.maxBlown"},
	{"limits", "time until other instances use a changed endpoint", "endpoint/own.fresh"},
	{"limits", "tools of a tenant", "tool.maxTools"},
	{"limits", "`title`, `description`", "tool.maxTitleBytes tool.maxDescriptionBytes/bytes"},
	{"limits", "`settings` | 16 KiB of JSON |", "tool.maxSettingsBytes/bytes"},
	{"limits", "`arguments`", "tool.maxArguments"},
	{"limits", "`meta`", "tool.maxMetaBytes/bytes"},
	{"limits", "`outputSchema`", "schema.MaxBytes/bytes schema.MaxDepth"},
	{"limits", "calls of tools within calls", "toolset.maxDepth"},
	{"limits", "`settings` of a tool of the kind `http`", "tool.maxRemoteBytes/bytes"},
	{"limits", "`inputSchema`, `outputSchema`", "schema.MaxBytes/bytes schema.MaxDepth schema.maxSteps"},
	{"limits", "a template", "httptool.maxTemplate/bytes"},
	{"limits", "parameters of the query", "httptool.maxParameters httptool.maxHeaderBytes/bytes mcpclient.maxHeaders mcpclient.maxHeaderBytes/bytes"},
	{"limits", "address of a request", "httptool.maxURLBytes/bytes"},
	{"limits", "body of a request", "httptool.maxBodyBytes/bytes"},
	{"limits", "`retries`", "httptool.maxRetries httptool.defaultRetries"},
	{"limits", "answer of an `http` tool", "httptool.defaultAnswer/bytes httptool.maxAnswerBytes/bytes"},
	{"limits", "JSON in an answer", "schema.MaxDepth schema.maxNumberBytes schema.maxExponent"},
	{"limits", "answer of an MCP server to", "mcpclient.maxAnswerBytes/bytes"},
	{"limits", "calls of a tenant to other services", "remote.MaxCalls remote.maxWait"},
	{"limits", "calls of tools within each other over", "remote.MaxDepth"},
	{"limits", "sessions of a tenant with MCP servers", "mcptool.maxTenantSessions mcptool.idleTime"},
	{"limits", "token about the caller", "identity.TokenLife"},
	{"limits", "`alternativeAnswers` of a question", "evaluate.maxAnswers evaluate.maxAnswerBytes/bytes"},
	{"limits", "kept results of questions of a tenant, of all", "evaluate.maxResults evaluate.answerWeight"},
	{"limits", "evaluations of agents of a tenant", "evaluate.maxAgentRuns evaluate.answersAtOnce"},
	{"limits", "questions to an agent whose model", "evaluate.answerAttempts evaluate.minAnswerWait evaluate.maxAnswerWait"},
	{"limits", "`declinePattern`", "evaluate.maxPatternBytes/bytes pattern.MaxStates evaluate.maxAnswerKept/bytes"},
	{"limits", "what a judge reads", "evaluate.maxJudgedBytes/bytes"},
	{"limits", "kept text of an answer", "evaluate.maxAnswerKept/bytes evaluate.maxErrorKept evaluate.maxReasonKept"},
	{"limits", "agents of a tenant", "agent.maxAgents"},
	{"limits", "definition of an agent", "agent.maxDefinitionBytes/bytes"},
	{"limits", "description of an agent", "agent.maxDescriptionBytes/bytes agent.maxInstructionsBytes/bytes agent.maxRenderedBytes/bytes"},
	{"limits", "tools of an agent", "agent.maxTools agent.maxIndexes agent.maxRules"},
	{"limits", "`limits.steps`", "agent.maxSteps agent.maxTokens agent.maxSeconds agent.defaultSteps agent.defaultTokens agent.defaultSeconds"},
	{"limits", "`sampling.maxTokens`", "agent.maxTurnTokens agent.maxStops"},
	{"limits", "message to an agent", "agent.maxMessageBytes/bytes"},
	{"limits", "result of a tool that a model", "agent.maxResultBytes/bytes agent.maxRunBytes/bytes"},
	{"limits", "calls of one turn", "agent.maxStepCalls agent.maxSameCalls agent.maxParallelCalls"},
	{"limits", "threads of a tenant", "agent.maxThreads agent.maxOwnThreads"},
	{"limits", "messages of a thread", "agent.maxThreadMessages agent.maxThreadBytes/bytes"},
	{"limits", "workflows of a tenant", "workflow.maxWorkflows"},
	{"limits", "definition", "workflow.maxDefinitionBytes/bytes workflow.maxSteps workflow.maxNesting"},
	{"limits", "texts of a workflow", "workflow.maxTextBytes/bytes"},
	{"limits", "branches of a step", "workflow.maxBranches"},
	{"limits", "items of a `foreach`", "workflow.maxItems workflow.maxConcurrency"},
	{"limits", "workflows within each other", "workflow.maxDepth"},
	{"limits", "input of a run or a step", "workflow.maxInputBytes/bytes"},
	{"limits", "inputs and outputs of the steps", "workflow.maxRunBytes/bytes"},
	{"limits", "steps of a run", "workflow.maxRunSteps"},
	{"limits", "runs of a tenant that have not ended", "workflow.maxOpenRuns workflow.maxOwnRuns"},
	{"limits", "runs of a tenant that run at once", "workflow.maxTenantRuns"},
	{"limits", "runs that are kept", "workflow.maxRuns"},
	{"limits", "expression", "expression.MaxBytes/bytes"},
	{"limits", "list or object that an expression", "expression.MaxValues"},
	{"limits", "text on the way to the result", "expression.MaxResultBytes/bytes"},
	{"limits", "prompts of a tenant", "prompt.maxPrompts"},
	{"limits", "versions of a prompt", "prompt.maxVersions"},
	{"limits", "a prompt as a whole", "prompt.maxDefinitionBytes/bytes"},
	{"limits", "arguments of a prompt", "prompt.maxArguments"},
	{"limits", "messages of a prompt", "prompt.maxMessages prompt.maxEmbedded"},
	{"limits", "value of an argument of a prompt", "prompt.maxArgumentBytes/bytes"},
	{"limits", "texts of the messages with arguments", "prompt.maxRenderedBytes/bytes"},
	{"limits", "declared keys of the request context", "contextkey.maxKeys"},
	{"limits", "`schema` of a context key", "contextkey.maxSchemaBytes/bytes"},
	{"limits", "`default` of a context key", "contextkey.maxDefaultBytes/bytes"},
	{"limits", "path of a reference in a filter", "filter.maxReferenceBytes"},
	{"limits", "secrets of a tenant", "secret.maxSecrets"},
	{"limits", "`value` of a secret", "secret.maxValueBytes/bytes"},
	{"limits", "`hosts` of a secret", "secret.maxHosts"},
	{"limits", "entries of an `Upsert`", "vector.MaxEntries"},
	{"limits", "`id`", "vector.maxIDBytes"},
	{"limits", "`namespace`", "index.maxNamespaceBytes"},
	{"limits", "`document`", "vector.maxDocumentBytes/bytes"},
	{"limits", "`metadata`", "metadata.MaxBytes/bytes metadata.MaxDepth"},
	{"limits", "`extract` of an upload", "extract.maxTemplateBytes/bytes extract.maxSchemaBytes/bytes extract.maxCount"},
	{"limits", "calls for one document's extraction", "extract.maxCalls"},
	{"limits", "text of a chunk and its metadata", "extract.maxShownBytes/bytes extract.maxShownValue/bytes"},
	{"limits", "an extracted title", "extract.maxLineBytes/bytes extract.maxSummaryBytes/bytes"},
	{"limits", "content of `UploadDocument`", "ingest.MaxContentBytes/bytes"},
	{"limits", "content of a document of `UploadDocuments`", "ingest.MaxDocumentBytes/bytes"},
	{"limits", "documents of one stream", "ingest.MaxStreamDocuments"},
	{"limits", "range of a text of `ReadDocument`", "ingest.MaxTextRange/bytes ingest.defaultTextRange/bytes"},
	{"limits", "original of a document read as an MCP resource", "mcp.maxOriginalBytes/bytes"},
	{"limits", "large documents being received", "ingest.maxSpooledBytes/bytes"},
	{"limits", "`fingerprint`", "ingest.maxFingerprintBytes"},
	{"limits", "`documentIds` or `uris`", "ingest.MaxDeletedNamed ingest.maxDeletedShown"},
	{"limits", "documents of a source", "ingest.MaxSourceDocuments"},
	{"limits", "text, and text extracted from a file", "parse.MaxText/bytes"},
	{"limits", "unpacked size of a file", "parse.maxUnpacked/bytes parse.maxMember/bytes"},
	{"limits", "members of an archive", "parse.maxMembers parse.maxNesting"},
	{"limits", "front matter of a Markdown file", "parse.MaxFrontMatter/bytes"},
	{"limits", "pages of a PDF file", "parse/pdftext.MaxPages"},
	{"limits", "links of a PDF file", "parse/pdftext.maxLinks parse/pdftext.maxAddress"},
	{"limits", "elements of the structure of a page of a PDF file", "parse/pdftext.maxElements parse/pdftext.maxElementDepth"},
	{"limits", "label of a page of a PDF file", "parse/pdftext.maxLabel"},
	{"limits", "parts of a message", "parse.maxParts parse.maxHeader/bytes"},
	{"limits", "what a cell of a notebook printed", "parse.maxOutput/bytes"},
	{"limits", "lines of a quoted field", "parse.maxQuotedLines"},
	{"limits", "scanned page", "parse/pdftext.minPicturePixels parse/pdftext.scanResolution"},
	{"limits", "<a id=\"character-recognition\"></a>", "parse/ocr.pictureTimeout parse/ocr.maxTextBytes/bytes"},
	{"limits", "sheets of a workbook", "parse.maxSheets"},
	{"limits", "`uri`, `namespace`", "ingest.maxURIBytes"},
	{"limits", "`title`", "ingest.maxTitleBytes"},
	{"limits", "text of `ChunkText`", "ingest.MaxChunkTextBytes/bytes"},
	{"limits", "documents of a tenant that are waiting", "backlog.defaultMaxDocuments"},
	{"limits", "their bytes", "backlog.defaultMaxBytes/bytes"},
	{"limits", "attempts of an ingest job", "job.MaxAttempts job.maxBackoff"},
	{"limits", "time of one attempt", "ingest.batchTimeout backlog.batchBytes/bytes"},
	{"limits", "name of a model", "endpoint.maxModelBytes"},
	{"limits", "`queryText`", "query.MaxQueryTextBytes/bytes"},
	{"limits", "`topK`", "query.MaxTopK"},
	{"limits", "`databaseConfig.pgvector.ef`", "query.maxEf"},
	{"limits", "`databaseConfig.pgvector.probes`", "query.maxProbes"},
	{"limits", "quoted phrases", "query.maxPhrases"},
	{"limits", "terms of a question that are searched", "query.maxTerms"},
	{"limits", "`neighbours`", "query.MaxNeighbours"},
	{"limits", "texts of `Embed`", "query.MaxEmbedTexts query.maxEmbedTextBytes/bytes"},
	{"limits", "terms of a question used by `lexical`", "rerank.maxTerms"},
	{"limits", "results of `Rerank`", "rerank.MaxCandidates query.maxRerankTextBytes/bytes"},
	{"limits", "states of the regular expressions", "pattern.MaxStates"},
	{"limits", "work of splitting a text |", "chunk.workPerByte chunk.regexPerByte chunk.workSlack"},
	{"limits", "work of splitting a text in", "ingest.maxChunkTextSteps"},
	{"filters", "the whole filter", "filter.MaxBytes/bytes"},
	{"filters", "levels of nesting", "filter.MaxDepth"},
	{"filters", "conditions", "filter.MaxConditions"},
	{"filters", "values of one `$in`", "filter.MaxList"},
	{"filters", "a field name", "filter.MaxNameBytes"},
	{"filters", "a `$regex`", "filter.MaxRegexBytes"},
	{"filters", "a number", "filter.MaxDigits"},
	{"chunking", "any size option", "chunk.MaxSizeLimit"},
	{"chunking", "entries in a list option", "chunk.maxListItems"},
	{"chunking", "length of an entry", "chunk.maxItemBytes"},
	{"chunking", "chunks of one text", "chunk.MaxChunks"},
	{"chunking", "all chunks together", "chunk.maxRepeat"},
	{"chunking", "states of the regular", "pattern.MaxStates"},
	{"chunking", "headings for `semantic-markdown`", "chunk/markdown.maxSections"},
	{"chunking", "`maxSize` (alias `size`)", "chunk.DefaultMaxSize"},
}

// Limits in the reference are the constants of the code.
func TestDocumentedLimitsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{}
	for _, limit := range documentedLimits {
		if rows[limit.page] == nil {
			text, err := os.ReadFile("../docs/reference/" + limit.page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			rows[limit.page] = strings.Split(string(text), "\n")
		}
		row := ""
		for _, line := range rows[limit.page] {
			if strings.HasPrefix(line, "| "+limit.row) {
				row = line
			}
		}
		if row == "" {
			t.Errorf("%s.md has no row %q", limit.page, limit.row)
			continue
		}
		for name := range strings.FieldsSeq(limit.constants) {
			name, bytes := strings.CutSuffix(name, "/bytes")
			if value := constantText(t, name, bytes); !strings.Contains(row, value) {
				t.Errorf("%s.md says %q, but %s is %s", limit.page, row, name, value)
			}
		}
	}
}

// durations replaces the constants of package time by their values.
var durations = strings.NewReplacer(
	"time.Millisecond", fmt.Sprint(int64(time.Millisecond)), "time.Second", fmt.Sprint(int64(time.Second)),
	"time.Minute", fmt.Sprint(int64(time.Minute)), "time.Hour", fmt.Sprint(int64(time.Hour)),
)

// constantText returns the value of a constant as the pages write it.
func constantText(t *testing.T, name string, bytes bool) string {
	t.Helper()
	dot := strings.LastIndexByte(name, '.')
	source := constantSource(t, name[:dot], name[dot+1:])
	result, err := types.Eval(token.NewFileSet(), nil, token.NoPos, durations.Replace(source))
	if err != nil {
		t.Fatalf("%s = %s: %v", name, source, err)
	}
	value, _ := constant.Int64Val(result.Value)
	switch {
	case strings.Contains(source, "time."):
		return durationText(time.Duration(value))
	case bytes:
		return bytesText(value)
	}
	return grouped(value)
}

// constantSource returns the expression that defines a constant of a package.
func constantSource(t *testing.T, pkg, name string) string {
	t.Helper()
	files, err := filepath.Glob(pkg + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		source := ""
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Names[0].Name == name {
				value := spec.Values[0]
				source = string(text[fset.Position(value.Pos()).Offset:fset.Position(value.End()).Offset])
			}
			return true
		})
		if source != "" {
			return source
		}
	}
	t.Fatalf("package %s has no constant %s", pkg, name)
	return ""
}

func durationText(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0 && d != time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

func bytesText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d", n)
}

// grouped writes a number with commas between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
