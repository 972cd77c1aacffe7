/** A page of the service, as `onEvent('view')` names it. It never says of which source or of whom. */
export type View =
  /** The organizations. */
  | 'choose'
  /** What an organization shares, and for how long. */
  | 'review'
  /** The button that opens an organization's own sign-in beside a frame. */
  | 'sign_in'
  /** An organization could not be connected. */
  | 'problem'
  /** What is connected, before it is shared. */
  | 'sources'
  /** To show who one is. */
  | 'identity'
  /** To be found by one's details. */
  | 'details'
  /** The places that were found. */
  | 'places'
  /** No place was found. */
  | 'nothing'
  /** Others are being asked. */
  | 'waiting';

/** Why nothing was shared. */
export type ErrorCode =
  /** The patient cancelled, had no records, or stayed away for too long: `error_description` says which. */
  | 'access_denied'
  /** The publishable key is unknown. */
  | 'invalid_key'
  /** The page's origin is not registered with the application of the key. */
  | 'invalid_origin'
  /** Another option is wrong; `error_description` names its parameter. */
  | 'invalid_request'
  /** The browser opened no window: `open()` was called outside of a click. */
  | 'popup_blocked'
  /**
   * The frame or the window showed no page of the service: none answers there, or a policy of the page or the browser
   * forbids it. A frame is given up two seconds after it loaded, a window (which is closed then) after half a minute.
   */
  | 'load_failed'
  /** The service could not do it. */
  | 'server_error'
  /** Too many flows are begun from one network; later it works. */
  | 'temporarily_unavailable';

export interface LinkError {
  /** A code of `ErrorCode`. A later service may know more. */
  error: ErrorCode | (string & {});
  /** A sentence for developers, in English. */
  error_description: string;
}

/** What `onEvent` is called with, by the event's name. */
export interface LinkEvents {
  /** `open()` was called. */
  open: Record<string, never>;
  /** The first page of the service is there. */
  load: Record<string, never>;
  /** A page of the service is shown. */
  view: { view: View | (string & {}) };
  /** Something is shared; `onSuccess` has the token. */
  success: Record<string, never>;
  /** Nothing is shared; `error` is null where the patient closed the window or the frame. */
  exit: { error: LinkError | null };
}

export type LinkEvent = { [Name in keyof LinkEvents]: [name: Name, details: LinkEvents[Name]] }[keyof LinkEvents];

export interface LinkOptions {
  /** `pk_test_...` or `pk_live_...`. */
  publishableKey: string;
  /** The service's address. Left out where the page loads the script from the service itself. */
  service?: string;
  /** Who the patient is to the application. */
  user?: { externalId?: string };
  /** Access for one day, or for longer where the source grants it. */
  usage?: 'ONE_TIME' | 'MULTIPLE';
  /** The one endpoint to connect, by its id of `/endpoints`. */
  endpointId?: string;
  /** Lets the patient connect several sources. */
  searchMode?: boolean;
  /** Verifies who the patient is, and looks their providers up. */
  ial2Mode?: boolean;
  /** With `searchMode`: what the form of details begins with; `dob` as `YYYY-MM-DD`. */
  hints?: { firstName?: string; lastName?: string; dob?: string };
  /** A BCP 47 tag, for the pages and the component's own words; the reader's languages where it is left out. */
  language?: string;
  /** A window, or a frame in the page. */
  display?: 'popup' | 'iframe';
  /** With `iframe`: the element to put the frame in; else it lies over the page. */
  container?: HTMLElement;
  /** With `iframe`: the frame's name for screen readers. */
  title?: string;
  /** Something is shared. The application's server exchanges the token at `/link/exchange`. */
  onSuccess?: (publicToken: string) => void;
  /** Nothing is shared; null where the patient closed the window or the frame. */
  onExit?: (error: LinkError | null) => void;
  /** The first page of the service is there. */
  onLoad?: () => void;
  /** Each thing that happens, before the callback of its own. */
  onEvent?: (...event: LinkEvent) => void;
}

export interface Link {
  /** Opens the window or the frame; for a window, in answer to a click. What is open already gets the focus. */
  open(): void;
  /** Takes away what is open. No callback is called. */
  close(): void;
}

/** Throws a `TypeError` where an option is none. */
export function create(options: LinkOptions): Link;

/** Opens the link that was created last. */
export function open(): void;

export interface TabulariumLinkStatic {
  create: typeof create;
  open: typeof open;
}

declare global {
  /** What the script of `/link/v1/link.js` leaves in a page. */
  var TabulariumLink: TabulariumLinkStatic;
}
